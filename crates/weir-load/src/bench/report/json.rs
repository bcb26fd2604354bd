//! The result file, with the keys of `vllm bench serve --save-result`, and all figures of Weir under `weir`.
//!
//! What is absent is null, where `vllm bench serve` writes 0. Lists stand in the order of the data set.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::numbers::percent_word;
use super::table::Metric;
use super::{About, Figures, Summary};
use crate::bench::run::{End, Outcome, Sample};
use crate::bench::schedule::{Ramp, Rate};
use crate::bench::semantics::{Semantics, View};

/// The result of a run; with lists of every request if `is_detailed` says so.
pub fn value(about: &About, outcome: &Outcome, figures: &Figures, is_detailed: bool) -> Value {
    let mut result = Map::new();
    set_up(&mut result, about);
    totals(&mut result, figures);
    for metric in Metric::ALL {
        latency(&mut result, metric.key(), metric.of(&figures.latencies));
    }
    latency(&mut result, "client_queue_time", figures.lateness.as_ref());
    latency(&mut result, "e2el_including_client_queue", figures.from_intended.e2el.as_ref());
    if is_detailed {
        lists(&mut result, outcome, figures.semantics);
    }
    result.insert("weir".into(), own(outcome, figures));
    Value::Object(result)
}

fn set_up(result: &mut Map<String, Value>, about: &About) {
    let date =
        SignedDuration::try_from(about.date).ok().and_then(|since| Timestamp::from_duration(since).ok());
    let mut put = |key: &str, value: Value| result.insert(key.to_owned(), value);
    put("date", date.map(|date| date.strftime("%Y%m%d-%H%M%S").to_string()).into());
    put("endpoint_type", about.backend.as_str().into());
    put("backend", about.backend.as_str().into());
    put("label", about.label.clone().into());
    put("model_id", about.model.as_str().into());
    put("tokenizer_id", about.tokenizer.clone().into());
    put("num_prompts", about.requests.into());
    for (key, value) in &about.metadata {
        put(key, value.as_str().into());
    }
    let rate = match about.pace.rate {
        Rate::Fixed(rate) => json!(rate),
        Rate::Unlimited | Rate::Ramp { .. } => json!("inf"),
    };
    put("request_rate", rate);
    // JSON has no infinity.
    let burstiness = about.pace.burstiness;
    put("burstiness", if burstiness.is_finite() { json!(burstiness) } else { json!("inf") });
    put("max_concurrency", about.max_concurrency.into());
    if let Rate::Ramp { form, from, to } = about.pace.rate {
        let form = match form {
            Ramp::Linear => "linear",
            Ramp::Exponential => "exponential",
        };
        put("ramp_up_strategy", form.into());
        put("ramp_up_start_rps", from.into());
        put("ramp_up_end_rps", to.into());
    }
}

fn totals(result: &mut Map<String, Value>, figures: &Figures) {
    let Figures { counts, throughput, lengths, .. } = figures;
    let mut put = |key: &str, value: Value| result.insert(key.to_owned(), value);
    put("duration", figures.duration_s.into());
    put("completed", counts.completed.into());
    put("failed", counts.failed.into());
    put("total_input_tokens", lengths.input.into());
    put("total_output_tokens", lengths.output.into());
    put("request_throughput", throughput.requests_per_s.into());
    put("request_goodput", figures.goodput.map(|goodput| goodput.per_s).into());
    put("output_throughput", throughput.output_tokens_per_s.into());
    put("total_token_throughput", throughput.total_tokens_per_s.into());
    put("max_output_tokens_per_s", throughput.peak_output_tokens_per_s.into());
    put("max_concurrent_requests", throughput.peak_concurrent.into());
    // Of sound alone.
    put("rtfx", Value::Null);
}

fn latency(result: &mut Map<String, Value>, key: &str, summary: Option<&Summary>) {
    let mut put = |key: String, value: Option<f64>| result.insert(key, value.into());
    put(format!("mean_{key}_ms"), summary.map(|summary| summary.mean_ms));
    put(format!("median_{key}_ms"), summary.map(|summary| summary.median_ms));
    put(format!("std_{key}_ms"), summary.map(|summary| summary.std_ms));
    for (percent, value) in summary.iter().flat_map(|summary| &summary.percentiles_ms) {
        put(format!("p{}_{key}_ms", percent_word(*percent)), Some(*value));
    }
}

/// One value of each request in each list.
fn lists(result: &mut Map<String, Value>, outcome: &Outcome, semantics: Semantics) {
    let views: Vec<(&Sample, View)> =
        outcome.samples.iter().map(|sample| (sample, semantics.view(sample))).collect();
    let mut put = |key: &str, value: &dyn Fn(&Sample, &View) -> Value| {
        result.insert(key.to_owned(), views.iter().map(|(sample, view)| value(sample, view)).collect());
    };
    put("input_lens", &|_, view| view.input.tokens().into());
    put("output_lens", &|_, view| view.output.tokens().into());
    put("ttfts", &|_, view| view.ttft_s.into());
    put("itls", &|_, view| view.itls_s.as_slice().into());
    put("latencies", &|_, view| view.e2e_s.into());
    put("start_times", &|sample, _| ((outcome.started_ns + sample.times.sent_ns) as f64 / 1e9).into());
    put("queue_times", &|sample, _| (sample.times.lateness_ns() as f64 / 1e9).into());
    put("generated_texts", &|sample, _| sample.text.clone().into());
    put("errors", &|sample, _| message(&sample.end).into());
    put("server_queue_times", &|sample, _| sample.server.queue_time_ms.map(|millis| millis / 1e3).into());
    put("server_ttfts", &|sample, _| sample.server.time_to_first_token_ms.map(|millis| millis / 1e3).into());
}

/// What went wrong; empty where nothing did.
fn message(end: &End) -> String {
    match end {
        End::Complete => String::new(),
        End::Left | End::Cancelled => end.name().into_owned(),
        End::Failed(failure, text) if text.is_empty() => failure.name().into_owned(),
        End::Failed(failure, text) => format!("{}: {text}", failure.name()),
    }
}

fn own(outcome: &Outcome, figures: &Figures) -> Value {
    let stop = match outcome.stop {
        crate::bench::run::Stop::Finished => "finished",
        crate::bench::run::Stop::TimeUp => "time_up",
        crate::bench::run::Stop::Interrupted => "interrupted",
    };
    // Plain data of our own: numbers, texts and lists of them.
    let figures = serde_json::to_value(figures).unwrap_or_default();
    json!({"stop": stop, "failed_warmups": outcome.failed_warmups, "figures": figures})
}
