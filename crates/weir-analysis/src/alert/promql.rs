//! Signals in PromQL, as far as Weir's own metrics tell them (docs/metrics.md).

use weir_core::lanes::GLOBAL;
use weir_core::outcome::ErrorType;

use super::condition::{Comparison, Condition, Test, Threshold};
use super::prometheus_slo::PromSlo;
use super::signal::{Figure, Measure, Signal, Stat};
use crate::scope::Scope;

/// A condition as one expression that has a sample, without labels, where it holds; or why it cannot be said.
pub(super) fn condition(condition: &Condition, slos: &[PromSlo]) -> Result<String, String> {
    test(&condition.test, &condition.scope, slos)
}

fn test(part: &Test, scope: &Scope, slos: &[PromSlo]) -> Result<String, String> {
    let (tests, joint) = match part {
        Test::Is(comparison) => return self::comparison(comparison, scope, slos),
        Test::All(tests) => (tests, " and "),
        Test::Any(tests) => (tests, " or "),
    };
    let parts: Result<Vec<_>, _> =
        tests.iter().map(|part| test(part, scope, slos).map(|part| format!("({part})"))).collect();
    Ok(parts?.join(joint))
}

fn comparison(comparison: &Comparison, scope: &Scope, slos: &[PromSlo]) -> Result<String, String> {
    let Comparison { signal, comparator, threshold } = comparison;
    match threshold {
        Threshold::Baseline(_) => Err(format!("only Weir knows the baseline of {signal}")),
        Threshold::Fixed(value) => {
            let signal = self::signal(signal, scope, slos)?;
            Ok(format!("{signal} {} {value}", comparator.as_str()))
        }
    }
}

fn signal(signal: &Signal, scope: &Scope, slos: &[PromSlo]) -> Result<String, String> {
    let find = |name: &str| {
        slos.iter().find(|slo| *slo.name == *name).ok_or_else(|| format!("the SLO {name} is not exported"))
    };
    match signal {
        Signal::Statistic { stat, measure, window } => {
            statistic(*stat, *measure, &Source { scope, window: window.as_str() })
        }
        Signal::Windowed { figure, window } => windowed(*figure, &Source { scope, window: window.as_str() }),
        Signal::Now(figure) => now(*figure, scope),
        Signal::BurnRate { slo, window } => Ok(find(slo)?.burn(window.as_str())),
        Signal::BudgetRemaining { slo } => Ok(find(slo)?.remaining()),
    }
}

/// What of a metric is read.
struct Source<'a> {
    scope: &'a Scope,
    window: &'a str,
}

impl Source<'_> {
    /// The rate of a counter, summed. `more` are further matchers.
    fn rate(&self, counter: &str, more: &str) -> String {
        format!("sum(rate({}[{}]))", selector(counter, self.scope, more), self.window)
    }

    /// The same of one that may have no series yet: none have been counted then.
    fn rate_or_zero(&self, counter: &str, more: &str) -> String {
        format!("({} or vector(0))", self.rate(counter, more))
    }
}

fn selector(metric: &str, scope: &Scope, more: &str) -> String {
    let own = match scope {
        Scope::Overall => String::new(),
        Scope::Model(name) => format!("model={}", quoted(name)),
        Scope::Upstream(name) => format!("upstream={}", quoted(name)),
    };
    let matchers: Vec<&str> =
        [own.as_str(), more].into_iter().filter(|matcher| !matcher.is_empty()).collect();
    if matchers.is_empty() { metric.to_owned() } else { format!("{metric}{{{}}}", matchers.join(",")) }
}

/// A text in PromQL.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// The histogram that holds a measure.
fn histogram(measure: Measure, scope: &Scope) -> Result<&'static str, String> {
    let by_model_only = matches!(measure, Measure::Itl | Measure::InterChunk);
    if by_model_only && matches!(scope, Scope::Upstream(_)) {
        return Err(format!("the metric of {} has no label upstream", measure.as_str()));
    }
    match measure {
        Measure::Ttft => Ok("weir_ttft_seconds"),
        Measure::UpstreamTtft => Ok("weir_upstream_ttft_seconds"),
        Measure::Itl => Ok("weir_itl_seconds"),
        Measure::InterChunk => Ok("weir_inter_chunk_seconds"),
        Measure::Tpot => Ok("weir_tpot_seconds"),
        Measure::Tps => Ok("weir_tokens_per_second"),
        Measure::E2e => Ok("weir_e2e_seconds"),
        Measure::QueueWait => Ok("weir_queue_wait_seconds"),
        Measure::InputTokens | Measure::OutputTokens => {
            Err(format!("Weir exports no histogram of {}", measure.as_str()))
        }
    }
}

fn statistic(stat: Stat, measure: Measure, source: &Source<'_>) -> Result<String, String> {
    let histogram = histogram(measure, source.scope)?;
    let quantile = match stat {
        Stat::P50 => "0.5",
        Stat::P90 => "0.9",
        Stat::P95 => "0.95",
        Stat::P99 => "0.99",
        Stat::Mean => {
            let of = |part: &str| source.rate(&format!("{histogram}_{part}"), "");
            return Ok(format!("({} / {})", of("sum"), of("count")));
        }
        Stat::Max => return Err("histograms keep no greatest value".to_owned()),
    };
    let buckets = selector(&format!("{histogram}_bucket"), source.scope, "");
    Ok(format!("histogram_quantile({quantile}, sum by (le) (rate({buckets}[{}])))", source.window))
}

const TIMEOUTS: &[ErrorType] = &[ErrorType::UpstreamTimeoutHeaders, ErrorType::UpstreamTimeoutIdle];
const RATE_LIMITS: &[ErrorType] = &[ErrorType::RateLimited, ErrorType::Quota];
const CONTENT_FILTER: &[ErrorType] = &[ErrorType::ContentFilter];
const MODEL_ERRORS: &[ErrorType] = &[
    ErrorType::Overloaded,
    ErrorType::Upstream5xx,
    ErrorType::UpstreamConnect,
    ErrorType::UpstreamReset,
    ErrorType::StreamError,
    ErrorType::StreamTruncated,
    ErrorType::EmptyStream,
];
const CLIENT_ERRORS: &[ErrorType] = &[
    ErrorType::BadRequest,
    ErrorType::ContextLength,
    ErrorType::Auth,
    ErrorType::NotFound,
    ErrorType::Unprocessable,
    ErrorType::Http4xx,
    ErrorType::ClientRequest,
];
/// What Weir itself turned away.
const OWN: &[ErrorType] =
    &[ErrorType::ProxyQueueFull, ErrorType::ProxyQueueTimeout, ErrorType::ProxyShutdown];

fn errors(types: &[&[ErrorType]]) -> String {
    let names: Vec<_> = types.iter().flat_map(|types| types.iter()).map(|error| error.as_str()).collect();
    format!("error_type=~\"{}\"", names.join("|"))
}

fn windowed(figure: Figure, source: &Source<'_>) -> Result<String, String> {
    let share = |types: &[ErrorType]| {
        let errors = source.rate_or_zero("weir_errors_total", &errors(&[types]));
        Ok(format!("({errors} / {})", source.rate("weir_requests_total", "")))
    };
    match figure {
        Figure::Rps => Ok(source.rate("weir_requests_total", "")),
        Figure::InputTps => Ok(source.rate("weir_input_tokens_total", "")),
        // Tokens as they flow are not told apart by upstream.
        Figure::OutputTps => Ok(match source.scope {
            Scope::Upstream(_) => source.rate("weir_output_tokens_total", ""),
            _ => source.rate("weir_stream_tokens_total", ""),
        }),
        Figure::Concurrency => {
            Ok(format!("sum(avg_over_time(weir_inflight{{phase!=\"queued\"}}[{}]))", source.window))
        }
        Figure::ErrorRate => Ok(error_rate(source)),
        Figure::TimeoutRate => share(TIMEOUTS),
        Figure::RateLimitRate => share(RATE_LIMITS),
        Figure::ContentFilterRate => share(CONTENT_FILTER),
        Figure::ModelErrorRate => share(MODEL_ERRORS),
        Figure::ClientErrorRate => share(CLIENT_ERRORS),
        Figure::HourlyCost => Ok(format!("({} * 3600)", source.rate("weir_cost_usd_total", ""))),
        _ => analysed(figure, source),
    }
}

/// What Weir works out itself, and tells of everything only. Of several Weirs the worst counts, where
/// theirs cannot be added up.
fn analysed(figure: Figure, source: &Source<'_>) -> Result<String, String> {
    let (of, metric) = match figure {
        Figure::Goodput => ("sum", "weir_goodput_requests_per_second"),
        Figure::GoodputTps => ("sum", "weir_goodput_tokens_per_second"),
        Figure::Attainment => ("min", "weir_goodput_attainment_ratio"),
        Figure::ThroughputRatio => ("min", "weir_window_throughput_ratio"),
        Figure::CostPer1kTokens | Figure::CostPer1mTokens => ("max", "weir_cost_usd_per_million_tokens"),
        _ => return Err(missing(figure)),
    };
    if *source.scope != Scope::Overall {
        return Err(format!("the metric of {} is of everything only", figure.as_str()));
    }
    let value = format!("{of}({metric}{{window=\"{}\"}})", source.window);
    Ok(if figure == Figure::CostPer1kTokens { format!("({value} / 1000)") } else { value })
}

/// Neither clients that left nor their own mistakes count.
fn error_rate(source: &Source<'_>) -> String {
    let bad = errors(&[TIMEOUTS, RATE_LIMITS, CONTENT_FILTER, MODEL_ERRORS, OWN]);
    let bad = source.rate_or_zero("weir_errors_total", &bad);
    let all = source.rate("weir_requests_total", "outcome!~\"upgraded|client_gone_.*\"");
    let clients = source.rate_or_zero("weir_errors_total", &errors(&[CLIENT_ERRORS]));
    format!("({bad} / ({all} - {clients}))")
}

fn now(figure: Figure, scope: &Scope) -> Result<String, String> {
    let lane = |metric: &str, phase: &str| match scope {
        Scope::Model(model) => format!("sum({metric}{{lane={}}})", quoted(model)),
        _ => format!("sum(weir_inflight{{phase{phase}\"queued\"}})"),
    };
    let worst = |metric: &str| {
        let lane = if let Scope::Model(model) = scope { model } else { GLOBAL };
        format!("max({metric}{{lane={}}})", quoted(lane))
    };
    match figure {
        Figure::QueueDepth => Ok(lane("weir_lane_queue_depth", "=")),
        Figure::InFlight => Ok(lane("weir_lane_in_flight", "!=")),
        Figure::StalledStreams => Ok("sum(weir_stalled_streams)".to_owned()),
        Figure::NoProgress => Ok("max(weir_no_progress_seconds)".to_owned()),
        Figure::Utilisation => Ok(worst("weir_lane_utilisation_ratio")),
        Figure::PredictedWait => Ok(worst("weir_lane_predicted_wait_seconds")),
        Figure::OldestSilence => Ok("max(weir_inflight_oldest_silence_seconds)".to_owned()),
        _ => Err(missing(figure)),
    }
}

fn missing(figure: Figure) -> String {
    format!("Weir exports no metric of {}", figure.as_str())
}
