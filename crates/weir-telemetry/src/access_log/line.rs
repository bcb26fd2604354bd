//! What a line of the access log says. What is not known is left out, never null or zero.

use serde::Serialize;
use weir_analysis::cost::{NanoUsd, Valuation};
use weir_core::exchange::{Exchange, Output, Stalls, Unpacked};
use weir_core::gaps::Bins;
use weir_core::timeline::{Mark, Offset, Timeline};
use weir_core::trace::TraceId;
use weir_core::usage::Usage;

use crate::clock::rfc3339;

/// One line, in groups of fields that stand side by side.
#[derive(Debug, Serialize)]
pub(super) struct Line<'a> {
    #[serde(flatten)]
    request: Request<'a>,
    #[serde(flatten)]
    answer: Answer<'a>,
    #[serde(flatten)]
    times: Times<'a>,
    #[serde(flatten)]
    flow: Option<Flow<'a>>,
    #[serde(flatten)]
    cost: Option<Cost>,
}

#[derive(Debug, Serialize)]
struct Request<'a> {
    request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<TraceId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    received: Option<String>,
    received_mono_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    dialect: &'static str,
    upstream: &'a str,
    method: &'a str,
    path: &'a str,
    stream: bool,
    request_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_hash: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Answer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_id: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    finish_reasons: &'a [Box<str>],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageFields>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens_provenance: Option<&'static str>,
    response_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    unpacked: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct UsageFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cached_input: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_write_input: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Times<'a> {
    marks: &'a Timeline,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttft_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttfa_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream_ttft_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tpot_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tps: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    e2e_s: Option<f64>,
    duration_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_wait_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overhead_s: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Flow<'a> {
    chunks: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    itl_s: Option<Spread>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inter_chunk_s: Option<Spread>,
    stalls: BothStalls,
    #[serde(skip_serializing_if = "Option::is_none")]
    gaps_ns: Option<&'a [Offset]>,
}

/// What the exchange costs.
#[derive(Debug, Serialize)]
struct Cost {
    cost_usd: f64,
    cost_source: &'static str,
    cost_estimated: bool,
}

/// How gaps are spread. Mean and max are exact, the rest within the width of a bin.
#[derive(Debug, Serialize)]
struct Spread {
    mean: f64,
    p50: f64,
    p95: f64,
    p99: f64,
    max: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    basis: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct BothStalls {
    upstream: StallFields,
    downstream: StallFields,
}

#[derive(Debug, Serialize)]
struct StallFields {
    count: u32,
    total_s: f64,
    longest_s: f64,
}

impl<'a> Line<'a> {
    /// What there is to say of an exchange.
    pub(super) fn of(exchange: &'a Exchange, valuation: &Valuation) -> Self {
        Self {
            request: Request::of(exchange),
            answer: Answer::of(exchange),
            times: Times::of(exchange),
            flow: exchange.answer.output.as_ref().map(Flow::of),
            cost: Cost::of(valuation),
        }
    }
}

impl<'a> Request<'a> {
    fn of(exchange: &'a Exchange) -> Self {
        let asked = &exchange.request;
        Self {
            request_id: &exchange.request_id,
            trace_id: exchange.trace.as_ref().map(|trace| trace.trace_id),
            received: rfc3339(exchange.received),
            received_mono_ns: exchange.received_mono.0,
            model: asked.model.as_deref(),
            dialect: asked.dialect.as_str(),
            upstream: &exchange.upstream,
            method: &asked.method,
            path: &asked.path,
            stream: asked.stream,
            request_bytes: asked.bytes,
            prompt_hash: asked.prompt_hash.as_deref(),
        }
    }
}

impl<'a> Answer<'a> {
    fn of(exchange: &'a Exchange) -> Self {
        let answer = &exchange.answer;
        Self {
            status: exchange.status,
            outcome: exchange.outcome.as_str(),
            error_type: exchange.error_type.map(|error_type| error_type.as_str()),
            response_model: answer.model.as_deref(),
            response_id: answer.id.as_deref(),
            finish_reasons: &answer.finish_reasons,
            usage: answer.usage.as_ref().map(UsageFields::of),
            tokens: answer.tokens.map(|tokens| tokens.count),
            tokens_provenance: answer.tokens.map(|tokens| tokens.provenance.as_str()),
            response_bytes: answer.bytes,
            unpacked: answer.unpacked.map(Unpacked::as_str),
        }
    }
}

impl Cost {
    fn of(&Valuation { total, source, estimated, .. }: &Valuation) -> Option<Self> {
        let cost_usd = total?.usd();
        Some(Self { cost_usd, cost_source: source.as_str(), cost_estimated: estimated })
    }
}

impl UsageFields {
    fn of(usage: &Usage) -> Self {
        let &Usage {
            input, output, total, cached_input, cache_write_input, reasoning, cost_nano_usd, ..
        } = usage;
        let cost_usd = cost_nano_usd.map(|cost| NanoUsd(cost).usd());
        Self { input, output, total, cached_input, cache_write_input, reasoning, cost_usd }
    }
}

impl<'a> Times<'a> {
    fn of(exchange: &'a Exchange) -> Self {
        let timeline = &exchange.timeline;
        let seconds = |time: Option<Offset>| time.map(Offset::as_secs_f64);
        Self {
            marks: timeline,
            ttft_s: seconds(timeline.ttft()),
            ttfa_s: seconds(timeline.at(Mark::FirstAnswer)),
            upstream_ttft_s: seconds(timeline.upstream_ttft()),
            tpot_s: exchange.tpot(),
            tps: exchange.tps(),
            e2e_s: seconds(timeline.e2e()),
            duration_s: exchange.duration().as_secs_f64(),
            queue_wait_s: seconds(timeline.queue_wait()),
            overhead_s: seconds(exchange.overhead()),
        }
    }
}

impl<'a> Flow<'a> {
    fn of(output: &'a Output) -> Self {
        Self {
            chunks: output.chunks,
            itl_s: Spread::of(&output.gaps.itl, Some(output.itl_basis.as_str())),
            inter_chunk_s: Spread::of(&output.gaps.inter_chunk, None),
            stalls: BothStalls {
                upstream: StallFields::of(&output.upstream_stalls),
                downstream: StallFields::of(&output.downstream_stalls),
            },
            gaps_ns: output.all_gaps.as_deref(),
        }
    }
}

impl Spread {
    fn of(bins: &Bins, basis: Option<&'static str>) -> Option<Self> {
        let quantile = |q| bins.quantile(q).map(Offset::as_secs_f64);
        Some(Self {
            mean: bins.mean()?.as_secs_f64(),
            p50: quantile(0.5)?,
            p95: quantile(0.95)?,
            p99: quantile(0.99)?,
            max: bins.max()?.as_secs_f64(),
            basis,
        })
    }
}

impl StallFields {
    fn of(stalls: &Stalls) -> Self {
        Self {
            count: stalls.count,
            total_s: stalls.total.as_secs_f64(),
            longest_s: stalls.longest.as_secs_f64(),
        }
    }
}
