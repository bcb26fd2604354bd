//! What a comparison finds in results that were made up, so that the truth is known.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, LogNormal, StandardNormal};
use serde_json::json;
use weir_load::bench::compare::{Judgement, Metric, Results, Rule, Verdict, compare};
use weir_load::bench::stats::Statistic;

const REQUESTS: usize = 400;
const GAPS: usize = 3;

/// 400 requests: times to first token with a spread of 30 %, speeds that differ by 4 % between requests, three gaps
/// each with a spread of 10 %. All times are `slower` times as long.
fn run(seed: u64, slower: f64) -> Results {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut draw = |median: f64, spread: f64| LogNormal::new(median.ln(), spread).unwrap().sample(&mut rng);
    let mut results = Results::default();
    for _ in 0..REQUESTS {
        let ttft = slower * draw(0.2, 0.3);
        let pace = draw(0.02, 0.04);
        let gaps: Vec<f64> = (0..GAPS).map(|_| slower * draw(pace, 0.1)).collect();
        let decode: f64 = gaps.iter().sum();
        results.add(Metric::Ttft, [vec![ttft]]);
        results.add(Metric::Tpot, [vec![decode / GAPS as f64]]);
        results.add(Metric::E2el, [vec![ttft + decode]]);
        results.add(Metric::Itl, [gaps]);
    }
    results
}

fn verdicts(before: impl Fn(u64) -> Results, after: impl Fn(u64) -> Results) -> Vec<Verdict> {
    let verdict =
        |seed| compare(&before(seed), &after(seed + 1000), Rule { seed, ..Rule::default() }).verdict;
    (0..20).map(verdict).collect()
}

fn count(verdicts: &[Verdict], of: Verdict) -> usize {
    verdicts.iter().filter(|verdict| **verdict == of).count()
}

#[test]
fn a_planted_shift_of_five_percent_is_found() {
    let found = verdicts(|seed| run(seed, 1.0), |seed| run(seed, 1.05));
    assert!(count(&found, Verdict::Regressed) >= 18, "{found:?}");
}

#[test]
fn equals_are_not_flagged() {
    let found = verdicts(|seed| run(seed, 1.0), |seed| run(seed, 1.0));
    assert!(count(&found, Verdict::Regressed) + count(&found, Verdict::Improved) <= 1, "{found:?}");
}

/// Times to first token of requests that stand in one queue: each hangs together with the one before it.
fn queued(seed: u64) -> Results {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut state = 0.0;
    let mut results = Results::default();
    for _ in 0..1000 {
        state = 0.8 * state + 0.6 * rng.sample::<f64, _>(StandardNormal);
        results.add(Metric::Ttft, [vec![0.2 * (0.3 * state).exp()]]);
    }
    results
}

#[test]
fn equals_whose_requests_hang_together_are_not_flagged() {
    let found = verdicts(queued, queued);
    assert!(count(&found, Verdict::Regressed) + count(&found, Verdict::Improved) <= 1, "{found:?}");
}

#[test]
fn faster_is_an_improvement_and_a_shift_within_the_margin_is_none() {
    let rule = |margin| Rule { margin, seed: 3 };
    let better = compare(&run(1, 1.05), &run(2, 1.0), rule(0.02));
    assert_eq!((better.verdict, better.verdict.exit_code()), (Verdict::Improved, 0));
    let within = compare(&run(1, 1.0), &run(2, 1.05), rule(0.35));
    assert_eq!(within.verdict, Verdict::Same, "{within}");
    let worse = compare(&run(1, 1.0), &run(2, 1.05), rule(0.02));
    assert_eq!((worse.verdict.exit_code(), worse.rows.len()), (1, 16));
    let row =
        worse.rows.iter().find(|row| (row.metric, row.statistic) == (Metric::Itl, Statistic::Mean)).unwrap();
    assert_eq!(row.judgement, Judgement::Regression);
    assert!(row.change.unwrap().low > 0.02 && row.change.unwrap().high < 0.09, "{row:?}");
}

#[test]
fn rates_are_compared_where_runs_were_repeated() {
    let rates = |rates: &[f64]| {
        let mut results = Results::default();
        for rate in rates {
            let run = Results::from_json(&json!({"output_throughput": rate})).unwrap();
            results.add_run(run);
        }
        results
    };
    let (before, after) = (rates(&[100.0, 102.0, 101.0]), rates(&[90.0, 93.0, 91.5]));
    let found = compare(&before, &after, Rule::default());
    assert_eq!((found.rows.len(), found.rows[0].judgement), (1, Judgement::Regression));
    // 90 ÷ 102 − 1 and 93 ÷ 100 − 1: so few runs, all that can be drawn is in the interval.
    let table = "\
metric                     before    after  change  95 % of all rows
output_throughput  mean  101.00/s  91.50/s  -9.4 %  -11.8 % … -7.0 %  REGRESSION
regressed (margin 2.0 %)
";
    assert_eq!(found.to_string(), table);
    let once = compare(&rates(&[100.0]), &rates(&[50.0]), Rule::default());
    assert_eq!((once.verdict, once.verdict.exit_code()), (Verdict::NoData, 3));
}

#[test]
fn results_of_vllm_are_read() {
    let document = json!({
        "ttfts": [0.5, 0.0, 0.25, 0.125], "latencies": [1.5, 0.0, 0.25, 0.625], "output_lens": [3, 0, 1, 5],
        "itls": [[0.4, 0.6], [], [], [0.125, 0.125, 0.125, 0.125]], "errors": ["", "refused", "", ""],
        "request_throughput": 3.5, "output_throughput": 9.0,
    });
    let mut expected = Results::default();
    expected.add(Metric::Ttft, [vec![0.5], vec![0.25], vec![0.125]]);
    expected.add(Metric::E2el, [vec![1.5], vec![0.25], vec![0.625]]);
    expected.add(Metric::Itl, [vec![0.4, 0.6], vec![0.125; 4]]);
    // One token has no time per token after it.
    expected.add(Metric::Tpot, [vec![0.5], vec![0.125]]);
    expected.add(Metric::RequestThroughput, [vec![3.5]]);
    expected.add(Metric::OutputThroughput, [vec![9.0]]);
    assert_eq!(Results::from_json(&document), Ok(expected));
    let ours =
        Results::from_json(&json!({"ttfts": [1.0], "weir": {"ttfts": [2.0], "tpots": [0.5]}})).unwrap();
    let mut expected = Results::default();
    expected.add(Metric::Ttft, [vec![2.0]]);
    expected.add(Metric::Tpot, [vec![0.5]]);
    assert_eq!(ours, expected);
    assert!(Results::from_json(&json!([1])).is_err());
    assert!(Results::from_json(&json!({"ttfts": "x", "itls": [[null]], "errors": {}})).is_err());
}
