//! Conditions: what they are read as, and that they are printed as they are read.

use std::time::Duration;

use proptest::prelude::*;
use weir_analysis::alert::condition::{Comparator, Comparison, Test, Threshold};
use weir_analysis::alert::signal::{BurnWindow, Figure, Measure, Stat};
use weir_analysis::alert::{Condition, Rules, Signal};
use weir_analysis::scope::{Scope, Window};

fn statistic(stat: Stat, measure: Measure, window: Window) -> Signal {
    Signal::Statistic { stat, measure, window }
}

fn is(signal: Signal, comparator: Comparator, value: f64) -> Test {
    Test::Is(Comparison { signal, comparator, threshold: Threshold::Fixed(value) })
}

fn now(figure: Figure) -> Test {
    is(Signal::Now(figure), Comparator::Above, 5.0)
}

fn minutes(minutes: u64) -> Option<Duration> {
    Some(Duration::from_secs(60 * minutes))
}

#[test]
fn one_comparison_is_read() {
    use Comparator::{Above, AtLeast, AtMost, Below, Equal, Unequal};
    let p95 = |window| statistic(Stat::P95, Measure::Ttft, window);
    let rate = |figure, window| Signal::Windowed { figure, window };
    let burn = Signal::BurnRate { slo: "my-slo.a:b".into(), window: BurnWindow::SixHours };
    let left = Signal::BudgetRemaining { slo: "a b".into() };
    for (text, test, held) in [
        ("p95_ttft > 2000ms for 5min", is(p95(Window::Minute), Above, 2.0), minutes(5)),
        ("p95_ttft>2s for 5 m", is(p95(Window::Minute), Above, 2.0), minutes(5)),
        ("p95_ttft[1m] > 0.5m FOR 300s", is(p95(Window::Minute), Above, 30.0), minutes(5)),
        ("p95_ttft[5m] >= 250us", is(p95(Window::FiveMinutes), AtLeast, 0.000_25), None),
        ("p95_ttft[1h] < 2 s", is(p95(Window::Hour), Below, 2.0), None),
        ("error_rate > 5%", is(rate(Figure::ErrorRate, Window::Minute), Above, 0.05), None),
        ("error_rate <= 0.05", is(rate(Figure::ErrorRate, Window::Minute), AtMost, 0.05), None),
        ("timeout_rate > 1 %", is(rate(Figure::TimeoutRate, Window::FiveMinutes), Above, 0.01), None),
        ("utilisation > 120%", is(Signal::Now(Figure::Utilisation), Above, 1.2), None),
        ("stalled_streams == 0", is(Signal::Now(Figure::StalledStreams), Equal, 0.0), None),
        ("in_flight != 5", is(Signal::Now(Figure::InFlight), Unequal, 5.0), None),
        ("burn_rate(my-slo.a:b, 6h) > 14.4", is(burn, Above, 14.4), None),
        ("budget_remaining('a b') < -10%", is(left, Below, -0.1), None),
        ("queue_depth > 5 for 0s", now(Figure::QueueDepth), Some(Duration::ZERO)),
    ] {
        let expected = Condition { test, held, scope: Scope::Overall };
        assert_eq!(Condition::parse(text), Ok(expected), "{text}");
    }
}

#[test]
fn and_binds_closer_than_or() {
    use Figure::{InFlight, QueueDepth, StalledStreams};
    let all = Test::All;
    let any = Test::Any;
    for (text, test) in [
        ("in_flight > 5 and queue_depth > 5", all(vec![now(InFlight), now(QueueDepth)])),
        (
            "in_flight > 5 or queue_depth > 5 and stalled_streams > 5",
            any(vec![now(InFlight), all(vec![now(QueueDepth), now(StalledStreams)])]),
        ),
        (
            "(in_flight > 5 || queue_depth > 5) && stalled_streams > 5",
            all(vec![any(vec![now(InFlight), now(QueueDepth)]), now(StalledStreams)]),
        ),
        ("((in_flight > 5))", now(InFlight)),
    ] {
        assert_eq!(Condition::parse(text).unwrap().test, test, "{text}");
    }
}

#[test]
fn a_scope_and_a_baseline_are_read() {
    for (text, scope) in [
        ("rps > 5 where model = \"llama\"", Scope::Model("llama".into())),
        ("rps > 5 for 5m where upstream = 'a \"b\" \\\\ c'", Scope::Upstream("a \"b\" \\ c".into())),
    ] {
        assert_eq!(Condition::parse(text).unwrap().scope, scope, "{text}");
    }
    let usual = Condition::parse("hourly_cost > 1.5x_baseline").unwrap();
    assert_eq!(usual.comparisons()[0].threshold, Threshold::Baseline(1.5));
    assert_eq!(usual.to_string(), "hourly_cost > 1.5x_baseline");
}

/// A comparison in words that can be read.
fn comparison() -> impl Strategy<Value = String> {
    let statistics = (
        prop::sample::select(Stat::ALL.to_vec()),
        prop::sample::select(Measure::ALL.to_vec()),
        prop::sample::select(vec!["", "[1m]", "[5m]", "[1h]"]),
    )
        .prop_map(|(stat, measure, window)| {
            let unit = if measure.unit() == weir_analysis::alert::unit::Unit::Seconds { "ms" } else { "" };
            (format!("{}_{}{window}", stat.as_str(), measure.as_str()), unit)
        });
    let figures = prop::sample::select(Figure::ALL.to_vec()).prop_map(|figure| {
        use weir_analysis::alert::unit::Unit;
        let unit = match figure.unit() {
            Unit::Seconds => "us",
            Unit::Share | Unit::Ratio => "%",
            _ => "",
        };
        (figure.as_str().to_owned(), unit)
    });
    let comparators = prop::sample::select(Comparator::ALL.to_vec());
    let value = prop_oneof![
        (0_u32..100, 0_u32..1_000).prop_map(|(whole, part)| (format!("{whole}.{part:03}"), false)),
        (1_u32..1_000).prop_map(|tenths| (format!("{}", f64::from(tenths) / 10.0), true)),
    ];
    (prop_oneof![statistics, figures], comparators, value).prop_map(
        |((signal, unit), comparator, (number, usual))| {
            let unit = if usual { "x_baseline" } else { unit };
            format!("{signal} {} {number}{unit}", comparator.as_str())
        },
    )
}

/// Conditions of comparisons, joined and nested.
fn test() -> impl Strategy<Value = String> {
    comparison().prop_recursive(3, 12, 3, |part| {
        (prop::collection::vec(part, 1..4), any::<bool>())
            .prop_map(|(parts, all)| format!("({})", parts.join(if all { " and " } else { " or " })))
    })
}

proptest! {
    #[test]
    fn what_is_printed_is_read_as_the_same(
        test in test(),
        held in prop::option::of((1_u64..10_000, prop::sample::select(vec!["us", "ms", "s", "m"]))),
    ) {
        let held = held.map_or_else(String::new, |(number, unit)| format!(" for {number}{unit}"));
        let written = format!("{test}{held}");
        prop_assume!(written.len() <= 512 && test.matches(['>', '<', '!', '=']).count() <= 24);
        match Condition::parse(&written) {
            Ok(condition) => {
                let printed = condition.to_string();
                prop_assert_eq!(Condition::parse(&printed), Ok(condition), "{}", printed);
            }
            // Nothing but the bound on comparisons can be wrong with it.
            Err(faults) => {
                let bounds = faults.iter().all(|fault| fault.message.starts_with("there are more than 16"));
                prop_assert!(bounds, "{} {:?}", written, faults);
            }
        }
    }

    #[test]
    fn names_of_models_survive_printing(name in "[^\\p{Cc}]{1,32}") {
        let escaped = name.replace('\\', "\\\\").replace('\'', "\\'");
        let condition = Condition::parse(&format!("rps > 5 where model = '{escaped}'")).unwrap();
        prop_assert_eq!(&condition.scope, &Scope::Model(name.into()));
        prop_assert_eq!(Condition::parse(&condition.to_string()), Ok(condition));
    }

    #[test]
    fn any_text_is_read_or_turned_away(text in "\\PC{0,80}") {
        if let Err(faults) = Condition::parse(&text) {
            prop_assert!(!faults.is_empty());
            prop_assert!(faults.iter().all(|fault| text.is_char_boundary(fault.offset)));
        }
    }

    #[test]
    fn any_words_are_read_or_turned_away(
        words in prop::collection::vec(prop::sample::select(vec![
            "p95_ttft", "rps", "burn_rate", "(", ")", "[", "5m", "]", ",", ">", "==", "=", "5", "-", "2s", "5%",
            "2x_baseline", "and", "or", "for", "where", "model", "'x'", "\"", "\\", "é", "\n",
        ]), 0..24),
    ) {
        let text = words.join(" ");
        let read = Condition::parse(&text);
        prop_assert_eq!(read.is_err(), read.err().is_some_and(|faults| !faults.is_empty()));
    }

    #[test]
    fn any_file_is_read_or_turned_away(
        at in 0_usize..2_000,
        length in 0_usize..20,
        instead in prop_oneof!["\\PC{0,8}", "[\\[\\]{}:,&*\\-?!|>'\"\n #]{0,6}"],
    ) {
        let example = include_str!("../../../examples/alerts.yaml");
        let at = example.floor_char_boundary(at.min(example.len()));
        let end = example.floor_char_boundary((at + length).min(example.len()));
        let broken = format!("{}{instead}{}", &example[..at], &example[end..]);
        if let Err(mistakes) = Rules::parse(&broken, &|_| Some("http://hooks.example.com".to_owned())) {
            prop_assert!(!mistakes.is_empty());
            prop_assert!(mistakes.iter().all(|mistake| mistake.place.line >= 1 && mistake.place.column >= 1));
            prop_assert!(mistakes.is_sorted());
        }
    }
}
