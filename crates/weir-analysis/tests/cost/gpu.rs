//! What owned GPUs make of an exchange's time.

use proptest::prelude::*;
use serde_json::{Value, json};
use weir_analysis::cost::{CostConfig, Costs, GpuFigures, GpuPricing, GpuPricingError, PriceBook, Source};
use weir_analysis::time::Moment;
use weir_core::exchange::Exchange;

use crate::fixture::{SECOND, from, record, tick};

/// 3600 dollars an hour are a dollar a second.
fn dollar_a_second() -> Costs {
    let gpu = Some(GpuPricing::new(900.0, 4).unwrap());
    Costs::new(CostConfig { book: PriceBook::default(), gpu, started: Moment(0), max_models: 3 })
}

/// One that was admitted, put out its first token, and ended, in nanoseconds.
fn life(admitted: u64, first_token: u64, ended: u64, usage: Value) -> Exchange {
    let mut record = record("own", usage);
    record["timeline"] = json!({"received":0,"queued":0,"admitted":admitted,"dispatched":admitted,
        "first_token":first_token,"last_token":ended,"ended":ended});
    from(record)
}

fn seconds(admitted: u64, first_token: u64, ended: u64) -> Exchange {
    life(admitted * SECOND, first_token * SECOND, ended * SECOND, json!({"input":10,"output":5}))
}

fn moment(second: u64) -> Moment {
    Moment(second * SECOND)
}

fn hour(costs: &Costs, now: u64) -> GpuFigures {
    costs.summary(moment(now)).gpu.remove(1)
}

/// Runs exchanges to the end: a tick at each second that sees who is in flight at it. Returns what
/// they cost in US dollars.
fn run(costs: &mut Costs, exchanges: &[Exchange], last: u64) -> f64 {
    let mut total = 0.0;
    for second in 0..=last {
        let now = second * SECOND;
        let (mut waiting, mut decoding) = (0, 0);
        for exchange in exchanges {
            let at = |mark| exchange.timeline.at(mark).unwrap().0;
            use weir_core::timeline::Mark::{Admitted, Ended, FirstToken};
            let ended = at(Ended);
            if at(Admitted) <= now && now < ended {
                let many = if now < at(FirstToken) { &mut waiting } else { &mut decoding };
                *many += 1;
            }
            if ended <= now && ended + SECOND > now {
                let value = costs.value(exchange);
                assert_eq!(value.source, Source::Gpu);
                total += value.total.unwrap().usd();
                costs.exchange(exchange, &value, Moment(ended));
            }
        }
        costs.tick(moment(second), &tick(now, waiting, decoding));
    }
    total
}

#[test]
fn a_second_is_shared_by_those_in_flight_in_it() {
    let mut costs = dollar_a_second();
    // One alone in 1..3, two in 3..5, one alone in 5..6.
    let exchanges = [seconds(1, 2, 5), seconds(3, 5, 6)];
    let total = run(&mut costs, &exchanges, 10);
    let first = costs.value(&exchanges[0]);
    let parts = first.parts.unwrap();
    // 1 before its first token; 1 alone and half of two after it.
    assert_eq!((parts.input.unwrap().usd(), parts.output.unwrap().usd()), (1.0, 2.0));
    assert!(!first.estimated);
    let parts = costs.value(&exchanges[1]).parts.unwrap();
    assert_eq!((parts.input.unwrap().usd(), parts.output.unwrap().usd()), (1.0, 1.0));
    assert!((total - 5.0).abs() < 1e-9);
    let figures = hour(&costs, 10);
    assert_eq!((figures.busy_usd, figures.idle_usd, figures.busy_share), (Some(5.0), Some(5.0), Some(0.5)));
    assert_eq!((figures.prefill_usd, figures.decode_usd), (Some(2.0), Some(3.0)));
    // 20 tokens of prompts, 10 of output.
    assert_eq!(figures.usd_per_1m_input_tokens, Some(100_000.0));
    assert_eq!(figures.usd_per_1m_output_tokens, Some(300_000.0));
}

#[test]
fn what_no_tick_saw_was_alone_and_not_free() {
    let mut costs = dollar_a_second();
    let quick = life(SECOND * 5 / 4, SECOND * 3 / 2, SECOND * 7 / 4, json!({"input":10,"output":5}));
    let total = run(&mut costs, std::slice::from_ref(&quick), 4);
    let value = costs.value(&quick);
    assert_eq!((value.parts.unwrap().input.unwrap().usd(), value.estimated), (0.25, true));
    assert!((total - 0.5).abs() < 1e-9);
    let figures = hour(&costs, 4);
    assert_eq!((figures.busy_usd, figures.idle_usd), (Some(0.5), Some(3.5)));
}

#[test]
fn without_ticks_or_without_admission_nothing_is_known() {
    let mut costs = dollar_a_second();
    let exchange = seconds(1, 2, 5);
    assert_eq!(costs.value(&exchange).total, None);
    assert_eq!(hour(&costs, 5).busy_usd, None);
    costs.tick(moment(6), &tick(6 * SECOND, 1, 0));
    assert_eq!(costs.value(&exchange).total, None);
    let mut refused = record("own", Value::Null);
    refused["outcome"] = json!("queue_full");
    refused["timeline"] = json!({"received":0,"ended":7 * SECOND});
    let refused = from(refused);
    let value = costs.value(&refused);
    assert_eq!((value.total, value.source), (None, Source::Unknown));
    costs.exchange(&refused, &value, moment(7));
    assert_eq!(costs.summary(moment(7)).this_hour.unpriced_requests, 0);
}

#[test]
fn what_began_before_the_first_tick_or_two_hours_ago_is_an_estimate() {
    let mut costs = dollar_a_second();
    for second in 2..=4 {
        costs.tick(moment(second), &tick(second * SECOND, 0, 2));
    }
    let value = costs.value(&seconds(1, 2, 4));
    assert_eq!((value.total.unwrap().usd(), value.estimated), (1.0, true));
    for second in 5..=9_000 {
        costs.tick(moment(second), &tick(second * SECOND, 0, 2));
    }
    // 7200 readings are kept: the last 7199 seconds and this one.
    let value = costs.value(&seconds(100, 200, 9_001));
    assert_eq!((value.total.unwrap().usd(), value.estimated), (3_600.0, true));
    assert!(!costs.value(&seconds(2_000, 3_000, 9_000)).estimated);
}

#[test]
fn ticks_that_go_back_are_passed_over() {
    let mut costs = dollar_a_second();
    for second in [1, 3, 2, 3, 5] {
        costs.tick(moment(second), &tick(second * SECOND, 0, 1));
    }
    assert_eq!(costs.value(&seconds(1, 2, 5)).total.unwrap().usd(), 4.0);
    assert_eq!(hour(&costs, 5).busy_usd, Some(4.0));
}

#[test]
fn prices_of_gpus_have_to_be_some() {
    assert_eq!(GpuPricing::new(2.0, 0), Err(GpuPricingError::NoGpus));
    assert_eq!(GpuPricing::new(-1.0, 1), Err(GpuPricingError::Price(-1.0)));
    assert!(GpuPricing::new(f64::NAN, 1).is_err() && GpuPricing::new(f64::INFINITY, 1).is_err());
    assert!(GpuPricing::new(0.0, 1).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Between ticks that see all comings and goings nothing is lost.
    #[test]
    fn exchanges_and_idleness_are_all_that_the_gpus_cost(
        lives in prop::collection::vec((0_u64..200, 0_u64..20, 1_u64..40), 0..40),
    ) {
        let mut costs = dollar_a_second();
        let exchanges: Vec<_> =
            lives.iter().map(|(from, first, more)| seconds(*from, from + first, from + first + more)).collect();
        let total = run(&mut costs, &exchanges, 300);
        let figures = hour(&costs, 300);
        let (busy, idle) = (figures.busy_usd.unwrap(), figures.idle_usd.unwrap());
        // Both parts of each are rounded to a nano dollar.
        let rounding = 1e-9 * (1 + exchanges.len()) as f64;
        prop_assert!((total - busy).abs() < rounding, "{total} and {busy}");
        prop_assert!((busy + idle - 300.0).abs() < 1e-9, "{busy} and {idle}");
    }

    /// Off the ticks, each exchange is wrong by at most a second at its beginning and one at its end.
    #[test]
    fn between_ticks_the_error_is_bounded(
        lives in prop::collection::vec((0_u64..200_000, 0_u64..20_000, 1_u64..40_000), 0..40),
    ) {
        let mut costs = dollar_a_second();
        let ms = SECOND / 1_000;
        let exchanges: Vec<_> = lives
            .iter()
            .map(|(from, first, more)| {
                let usage = json!({"input":10,"output":5});
                life(from * ms, (from + first) * ms, (from + first + more) * ms, usage)
            })
            .collect();
        let total = run(&mut costs, &exchanges, 300);
        let idle = hour(&costs, 300).idle_usd.unwrap();
        let bound = 2.0 * exchanges.len() as f64 + 1e-6;
        prop_assert!((total + idle - 300.0).abs() <= bound, "{total} and {idle}");
    }
}
