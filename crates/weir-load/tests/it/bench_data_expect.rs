//! Expectations: the example's rows, what a run makes of them, and mistakes.

use std::collections::BTreeMap;

use weir_load::bench::expect::{Expectations, Outcome, Subject};

const EXAMPLE: &str = include_str!("../../../../examples/expectations.toml");

fn subject(model: &str, hardware: Option<&str>, gpus: Option<u32>) -> Subject {
    Subject { model: Some(model.to_owned()), hardware: hardware.map(str::to_owned), gpus }
}

fn figures(figures: &[(&str, f64)]) -> BTreeMap<String, f64> {
    figures.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

#[test]
fn the_example_holds_what_is_expected_of_four_models() {
    let rows: Vec<(String, String)> = Expectations::parse(EXAMPLE)
        .unwrap()
        .rows
        .into_iter()
        .map(|row| {
            let limits: Vec<String> =
                row.limits.iter().map(|(figure, limit)| format!("{figure} {limit}")).collect();
            (format!("{} x{}", row.name, row.applies.gpus.unwrap()), limits.join(", "))
        })
        .collect();
    let row = |name: &str, util: &str, tps: u32, itl: u32, ttft: u32| {
        let limits =
            format!("gpu_util > {util}, output_tps > {tps}, p95_itl_ms < {itl}, p95_ttft_ms < {ttft}");
        (name.to_owned(), limits)
    };
    let expected = [
        row("Llama-2-7B on A100 x1", "0.7", 800, 50, 500),
        row("Llama-2-13B on A100 x1", "0.75", 400, 80, 800),
        row("Llama-2-70B on 2 A100 x2", "0.8", 200, 100, 1500),
        row("Qwen-2.5-72B on 2 A100 x2", "0.8", 250, 80, 1200),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn a_run_is_held_against_the_rows_that_are_of_it() {
    let table = Expectations::parse(EXAMPLE).unwrap();
    let run = subject("meta-llama/Llama-2-7b-chat-hf", Some("NVIDIA A100-SXM4-80GB"), Some(1));
    let seen = figures(&[("output_tps", 800.0), ("p95_ttft_ms", 321.5), ("p95_itl_ms", 49.99)]);
    let verdict = table.judge(&run, &seen);
    let text = "\
expectation         figure       limit  seen
Llama-2-7B on A100  gpu_util     > 0.7  -       no data
Llama-2-7B on A100  output_tps   > 800  800.00  FAIL
Llama-2-7B on A100  p95_itl_ms   < 50   49.99   pass
Llama-2-7B on A100  p95_ttft_ms  < 500  321.50  pass
";
    assert_eq!(verdict.to_string(), text);
    assert_eq!((verdict.outcome(), verdict.exit_code()), (Outcome::Fail, 1));
    let faster = table.judge(&run, &figures(&[("output_tps", 800.5), ("p95_ttft_ms", f64::NAN)]));
    assert_eq!((faster.outcome(), faster.exit_code()), (Outcome::Pass, 0));
    // Two accelerators are another machine; unknown ones may be the right ones, but nothing is said of them.
    let run = subject("Llama-2-7b", Some("A100"), Some(2));
    assert_eq!((table.judge(&run, &seen).lines.len(), table.judge(&run, &seen).exit_code()), (0, 3));
    let unknown = table.judge(&subject("Llama-2-7b", None, None), &seen);
    assert_eq!((unknown.lines.len(), unknown.outcome()), (4, Outcome::NoData));
}

#[test]
fn a_row_without_a_match_goes_for_all_runs() {
    let limits = "mean_tpot_ms = '<= 20'\nrequest_tps = '>=3'";
    let table = Expectations::parse(&format!("[[expectation]]\nname = 'all'\n{limits}\n")).unwrap();
    let outcomes = |tpot, rate| -> Vec<Outcome> {
        let seen = figures(&[("mean_tpot_ms", tpot), ("request_tps", rate)]);
        table.judge(&Subject::default(), &seen).lines.iter().map(|line| line.outcome).collect()
    };
    assert_eq!(outcomes(20.0, 3.0), [Outcome::Pass, Outcome::Pass]);
    assert_eq!(outcomes(20.1, 2.9), [Outcome::Fail, Outcome::Fail]);
}

#[test]
fn mistakes_are_told_with_their_line() {
    let row = |rest: &str| format!("[[expectation]]\nname = 'a'\n{rest}\n");
    let cases = [
        (row("p95_tttf_ms = '< 3'"), "line 3: p95_tttf_ms: unknown key"),
        (row("p42_ttft_ms = '< 3'"), "line 3: p42_ttft_ms: unknown key"),
        (row("p95_ttft_ms = '< x'"), "line 3: p95_ttft_ms: allowed: text like \"< 500\""),
        (row("p95_ttft_ms = 500"), "line 3: p95_ttft_ms: allowed: text like \"< 500\""),
        (row(""), "line 1: nothing is expected"),
        (
            row("gpu_util = '> 1'\nmatch = { gpu = 1 }"),
            "line 4: gpu: unknown key; allowed: model, hardware, gpus",
        ),
        (row("gpu_util = '> 1'\nmatch = { gpus = 0 }"), "line 4: match.gpus: allowed: a number from 1"),
        (row("gpu_util = '> 1'\nmatch = 'A100'"), "line 4: match: allowed: a text for name"),
        ("[[expectation]]\ngpu_util = '> 1'\n".to_owned(), "line 1: no name"),
        ("\n[expectations]\n".to_owned(), "line 2: expectations: unknown key; allowed: [[expectation]]"),
        ("expectation = [3]".to_owned(), "line 1: not a table"),
        ("[[expectation]]\nname = \n".to_owned(), "line 2: "),
    ];
    for (text, says) in cases {
        let error = Expectations::parse(&text).unwrap_err().to_string();
        assert!(error.starts_with(says), "{text}: {error}");
    }
}

proptest::proptest! {
    #[test]
    fn garbage_is_refused_without_panic(text in "[\\[\\]a-z_0-9 ='\"{}<>.\n]{0,80}") {
        let _refused_or_not = Expectations::parse(&text);
        let _refused_or_not = Expectations::parse(&format!("[[expectation]]\nname = 'a'\n{text}"));
    }
}
