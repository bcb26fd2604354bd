use std::time::Duration;

use serde_json::{Value, json};

use super::table::Metric;
use super::*;
use crate::bench::backend::Output;
use crate::bench::run::{Arrival, End, Failure, Outcome, Sample};
use crate::bench::samples::{outcome, sample};
use crate::bench::schedule::{Ramp, Rate};
use crate::bench::semantics::Semantics;

/// A stream with tokens at those milliseconds.
fn stream(index: u64, (sent, ended): (u64, u64), input: u64, tokens: &[u64]) -> Sample {
    let mut stream = sample(index, sent, ended);
    let token = |ms: &u64| Arrival {
        at_ns: ms * 1_000_000,
        output: Some(Output::Content),
        is_vllm_token: true,
        tokens: None,
    };
    stream.arrivals = tokens.iter().map(token).collect();
    stream.usage.input = Some(input);
    stream.usage.output = Some(tokens.len() as u64);
    stream.vllm.output_tokens = stream.usage.output;
    stream
}

/// Two answers and a refusal, in half a second.
fn short_run() -> Outcome {
    let mut refused = sample(2, 50, 60);
    refused.end = End::Failed(Failure::Status(429), "slow <down>".into());
    refused.vllm.is_success = false;
    let answers =
        [stream(0, (0, 210), 10, &[100, 150, 200]), stream(1, (100, 410), 20, &[300, 400]), refused];
    outcome(answers.to_vec(), 500)
}

fn reading(semantics: Semantics) -> Reading {
    Reading { semantics, goodput: GoodputLimits::parse(["ttft:150"]).unwrap(), ..Reading::default() }
}

fn about() -> About {
    About {
        backend: "openai-chat".into(),
        model: "sim".into(),
        date: Duration::from_secs(1_000_000_000),
        requests: 3,
        pace: Pace { rate: Rate::Fixed(6.0), burstiness: 1.0 },
        max_concurrency: Some(2),
        ..About::default()
    }
}

fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
}

/// Mean, median and 99th percentile.
fn shown(summary: &Option<Summary>) -> [f64; 3] {
    let summary = summary.as_ref().unwrap();
    [summary.mean_ms, summary.median_ms, summary.percentiles_ms[0].1]
}

#[test]
fn figures_are_those_worked_out_by_hand() {
    for semantics in [Semantics::Weir, Semantics::Vllm] {
        let figures = Figures::of(&short_run(), &reading(semantics));
        assert_eq!((figures.counts.sent, figures.counts.completed, figures.counts.failed), (3, 2, 1));
        let throughput = figures.throughput;
        close(throughput.requests_per_s, 4.0);
        close(throughput.output_tokens_per_s, 10.0);
        close(throughput.total_tokens_per_s, 70.0);
        assert_eq!((throughput.peak_output_tokens_per_s, throughput.peak_concurrent), (Some(5.0), Some(2)));
        let latencies = &figures.latencies;
        for (summary, expected) in [
            (&latencies.ttft, [150.0, 150.0, 199.0]),
            (&latencies.tpot, [75.0, 75.0, 99.5]),
            (&latencies.itl, [200.0 / 3.0, 50.0, 99.0]),
            (&latencies.e2el, [250.0, 250.0, 299.0]),
            (&figures.lateness, [50.0, 50.0, 99.0]),
            (&figures.from_intended.ttft, [200.0, 200.0, 298.0]),
            (&figures.from_intended.e2el, [300.0, 300.0, 398.0]),
        ] {
            shown(summary).into_iter().zip(expected).for_each(|(value, is)| close(value, is));
        }
        let goodput = figures.goodput.unwrap();
        assert_eq!((goodput.good, goodput.per_s, goodput.attainment), (1, 2.0, Some(1.0 / 3.0)));
        assert_eq!(figures.errors, [("http_429".to_owned(), 1)].into());
        assert_eq!(figures.stalls, Stalls::default());
        assert_eq!(figures.server_queue, None);
    }
}

#[test]
fn stalls_and_the_servers_word_are_told() {
    let mut run = outcome(vec![stream(0, (0, 5000), 1, &[100, 1100, 2101, 4201])], 5000);
    run.samples[0].server.queue_time_ms = Some(7.0);
    let figures = Figures::of(&run, &Reading::default());
    assert_eq!(figures.stalls, Stalls { count: 2, requests: 1, longest_s: Some(2.1) });
    close(figures.server_queue.unwrap().mean_ms, 7.0);
}

#[test]
fn without_an_answer_there_are_no_latencies() {
    let mut run = short_run();
    run.samples.drain(..2);
    let figures = Figures::of(&run, &Reading::default());
    assert_eq!(figures.latencies, Latencies::default());
    assert_eq!(figures.throughput.peak_concurrent, None);
    let mut table = String::new();
    table::write(&mut table, &about(), &figures, &Metric::USUAL).unwrap();
    assert!(table.contains(&format!("{:<40} {:<10}", "Mean TTFT (ms):", "n/a")));
    let result = json::value(&about(), &run, &figures, false);
    assert_eq!((&result["mean_ttft_ms"], &result["failed"]), (&Value::Null, &json!(1)));
}

#[test]
fn the_table_is_that_of_vllm_and_ours_below() {
    let mut table = String::new();
    let figures = Figures::of(&short_run(), &reading(Semantics::Vllm));
    table::write(&mut table, &about(), &figures, &Metric::ALL).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    let labels = "\
============ Serving Benchmark Result ============
Successful requests:                     2         
Failed requests:                         1         
Maximum request concurrency:             2         
Request rate configured (RPS):           6.00      
Benchmark duration (s):                  0.50      
Total input tokens:                      30        
Total generated tokens:                  5         
Request throughput (req/s):              4.00      
Request goodput (req/s):                 2.00      
Output token throughput (tok/s):         10.00     
Peak output token throughput (tok/s):    5.00      
Peak concurrent requests:                2.00      
Total token throughput (tok/s):          70.00     
---------------Time to First Token----------------
Mean TTFT (ms):                          150.00    
Median TTFT (ms):                        150.00    
P99 TTFT (ms):                           199.00    
-----Time per Output Token (excl. 1st token)------
Mean TPOT (ms):                          75.00     
Median TPOT (ms):                        75.00     
P99 TPOT (ms):                           99.50     
---------------Inter-token Latency----------------
Mean ITL (ms):                           66.67     
Median ITL (ms):                         50.00     
P99 ITL (ms):                            99.00     
----------------End-to-end Latency----------------
Mean E2EL (ms):                          250.00    
Median E2EL (ms):                        250.00    
P99 E2EL (ms):                           299.00    
==================================================";
    let expected: Vec<&str> = labels.lines().collect();
    assert_eq!(&lines[..expected.len()], expected);
    let own = &lines[expected.len()..];
    assert_eq!(own[0], format!("{:=^50}", " Weir "));
    for label in ["Definitions:", "Max lateness (ms):", "Mean TTFT from due time (ms):", "http_429:"] {
        assert_eq!(own.iter().filter(|line| line.starts_with(label)).count(), 1, "{label}");
    }
    // No label of the first part comes twice, so that whoever looks for one finds the right one.
    let own_labels: Vec<&str> =
        own.iter().filter_map(|line| line.split_once(':')).map(|(label, _)| label).collect();
    let first: Vec<&str> =
        expected.iter().filter_map(|line| line.split_once(':')).map(|(label, _)| label).collect();
    assert!(own_labels.iter().all(|label| !first.contains(label)));
}

#[test]
fn the_result_file_has_the_keys_of_vllm() {
    let run = short_run();
    let figures = Figures::of(&run, &reading(Semantics::Vllm));
    let result = json::value(&about(), &run, &figures, true);
    let expected = json!({
        "date": "20010909-014640", "endpoint_type": "openai-chat", "backend": "openai-chat", "label": null,
        "model_id": "sim", "tokenizer_id": null, "num_prompts": 3, "request_rate": 6.0, "burstiness": 1.0,
        "max_concurrency": 2, "duration": 0.5, "completed": 2, "failed": 1, "total_input_tokens": 30,
        "total_output_tokens": 5, "request_throughput": 4.0, "request_goodput": 2.0,
        "output_throughput": 10.0, "total_token_throughput": 70.0, "max_output_tokens_per_s": 5.0,
        "max_concurrent_requests": 2, "rtfx": null,
        "input_lens": [10, 20, null], "output_lens": [3, 2, null], "ttfts": [0.1, 0.2, null],
        "itls": [[0.05, 0.05], [0.1], []], "latencies": [0.2, 0.3, null], "start_times": [0.0, 0.1, 0.05],
        "queue_times": [0.0, 0.1, 0.05], "generated_texts": [null, null, null],
        "errors": ["", "", "http_429: slow <down>"], "server_queue_times": [null, null, null],
        "server_ttfts": [null, null, null],
    });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&result[key], value, "{key}");
    }
    for metric in ["ttft", "tpot", "itl", "e2el", "client_queue_time", "e2el_including_client_queue"] {
        for statistic in ["mean", "median", "std", "p99"] {
            assert!(result[format!("{statistic}_{metric}_ms")].is_f64(), "{statistic} of {metric}");
        }
    }
    assert_eq!(result["weir"]["stop"], "finished");
    let told: Figures = serde_json::from_value(result["weir"]["figures"].clone()).unwrap();
    assert_eq!(told, figures);
    assert_eq!(json::value(&about(), &run, &figures, false)["ttfts"], Value::Null);
}

#[test]
fn a_ramp_and_no_limit_are_told_as_vllm_does() {
    let run = short_run();
    let figures = Figures::of(&run, &Reading::default());
    let rate = Rate::Ramp { form: Ramp::Linear, from: 1.0, to: 5.0 };
    let ramp = About { pace: Pace { rate, burstiness: f64::INFINITY }, ..about() };
    let result = json::value(&ramp, &run, &figures, false);
    assert_eq!((&result["request_rate"], &result["burstiness"]), (&json!("inf"), &json!("inf")));
    assert_eq!((&result["ramp_up_strategy"], &result["ramp_up_end_rps"]), (&json!("linear"), &json!(5.0)));
    let mut table = String::new();
    let unlimited = About { pace: Pace::default(), max_concurrency: None, ..about() };
    table::write(&mut table, &unlimited, &figures, &[]).unwrap();
    assert!(!table.contains("configured") && !table.contains("Maximum") && !table.contains("TTFT (ms)"));
}

#[test]
fn each_request_has_a_line() {
    let run = short_run();
    let mut lines = Vec::new();
    jsonl::write(&mut lines, &run, Semantics::Weir).unwrap();
    let lines: Vec<Value> =
        String::from_utf8(lines).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(
        (&lines[0]["id"], &lines[0]["ttft_s"], &lines[0]["itls_s"]),
        (&json!("b-0"), &json!(0.1), &json!([0.05, 0.05]))
    );
    assert_eq!((&lines[1]["sent_ns"], &lines[1]["end"]), (&json!(100_000_000), &json!("ok")));
    assert_eq!((&lines[2]["end"], &lines[2]["message"]), (&json!("http_429"), &json!("slow <down>")));
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let run = short_run();
    let figures = Figures::of(&run, &Reading::default());
    let mut page = String::new();
    let about = About { model: "<b>&".into(), ..about() };
    html::write(&mut page, &about, &run, &figures).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert_eq!(page.matches("<svg").count(), 5);
    for outside in ["http:", "https:", "<script", "<link", "@import", "url(", "NaN", "<b>"] {
        assert!(!page.contains(outside), "{outside}");
    }
    let mut empty = String::new();
    let run = outcome(Vec::new(), 0);
    html::write(&mut empty, &about, &run, &Figures::of(&run, &Reading::default())).unwrap();
    assert!(!empty.contains("<svg"));
}
