//! What Langfuse and Phoenix read beyond the conventions.

use weir_analysis::cost::{CostParts, NanoUsd, Valuation};
use weir_core::dialect::Dialect;
use weir_core::exchange::{Exchange, WallTime};
use weir_core::outcome::Outcome;
use weir_core::timeline::Mark;

use super::verdict::Verdict;
use super::{Attributes, Subject};
use crate::clock::rfc3339;

/// On the exchange's own span.
pub(super) fn server(subject: &Subject<'_>, list: &mut Attributes) {
    list.text("openinference.span.kind", "CHAIN");
    caller(subject.exchange, list);
    // Below a span that the backend was not sent, Langfuse shows a trace without a name.
    if subject.as_root && subject.place.parent.is_some() {
        list.text("langfuse.internal.as_root", "true");
    }
}

/// On the span of the call.
pub(super) fn call(subject: &Subject<'_>, verdict: &Verdict, list: &mut Attributes) {
    let exchange = subject.exchange;
    caller(exchange, list);
    open_inference(subject, list);
    langfuse(exchange, list);
    cost(subject.valuation, list);
    level(exchange, verdict, list);
}

fn caller(exchange: &Exchange, list: &mut Attributes) {
    let caller = &exchange.request.caller;
    list.some_text("session.id", caller.session.as_deref());
    list.some_text("user.id", caller.user.as_deref());
}

fn open_inference(subject: &Subject<'_>, list: &mut Attributes) {
    let exchange = subject.exchange;
    let kind = match exchange.request.dialect {
        Dialect::Embeddings => "EMBEDDING",
        Dialect::Rerank => "RERANKER",
        _ => "LLM",
    };
    list.text("openinference.span.kind", kind);
    list.some_text("llm.model_name", exchange.request.model.as_deref());
    list.text("llm.system", subject.provider());
    list.some_text("llm.finish_reason", exchange.answer.finish_reasons.first().map(|reason| &**reason));
    if let Some(settings) = settings(exchange) {
        list.text("llm.invocation_parameters", settings);
    }
    let counts = Counts::of(exchange);
    list.some_count("llm.token_count.prompt", counts.input);
    list.some_count("llm.token_count.completion", counts.output);
    list.some_count("llm.token_count.total", counts.total());
    list.some_count("llm.token_count.prompt_details.cache_read", counts.cached);
    list.some_count("llm.token_count.prompt_details.cache_write", counts.written);
    list.some_count("llm.token_count.completion_details.reasoning", counts.reasoning);
}

/// The settings as one JSON object, each value as it came.
fn settings(exchange: &Exchange) -> Option<String> {
    let settings = &exchange.request.settings;
    if settings.is_empty() {
        return None;
    }
    let mut object = serde_json::Map::new();
    for setting in settings {
        if let (Ok(serde_json::Value::String(name)), Ok(value)) =
            (serde_json::to_value(setting.name), serde_json::from_str(&setting.value))
        {
            object.insert(name, value);
        }
    }
    Some(serde_json::Value::Object(object).to_string())
}

fn langfuse(exchange: &Exchange, list: &mut Attributes) {
    let kind = if exchange.request.dialect == Dialect::Embeddings { "embedding" } else { "generation" };
    list.text("langfuse.observation.type", kind);
    let first = exchange.timeline.at(Mark::FirstToken).filter(|_| exchange.answer.stream);
    let first = first.and_then(|first| rfc3339(WallTime(exchange.received.0.saturating_add(first.0))));
    list.some_text("langfuse.observation.completion_start_time", first);
    if let Some(usage) = Counts::of(exchange).details() {
        list.text("langfuse.observation.usage_details", usage);
    }
}

/// What went wrong without being a failure of this call is worth a warning.
fn level(exchange: &Exchange, verdict: &Verdict, list: &mut Attributes) {
    let unremarkable = matches!(exchange.outcome, Outcome::Completed | Outcome::Upgraded);
    if verdict.error_type.is_some() {
        list.text("langfuse.observation.level", "ERROR");
    } else if !unremarkable || exchange.error_type.is_some() {
        list.text("langfuse.observation.level", "WARNING");
    }
    if !verdict.message.is_empty() {
        list.text("langfuse.observation.status_message", &*verdict.message);
    }
}

/// What the call costs, in US dollars. Langfuse has a table of prices of its own, which it does not ask
/// where it is told a cost.
fn cost(valuation: &Valuation, list: &mut Attributes) {
    let Some(total) = valuation.total else { return };
    list.text("langfuse.observation.cost_details", cost_details(total, valuation.parts.unwrap_or_default()));
    list.number("llm.cost.total", total.usd());
    list.number("gen_ai.usage.cost", total.usd());
    list.text("weir.cost_source", valuation.source.as_str());
    list.flag("weir.cost_estimated", valuation.estimated);
}

/// The parts under the names of the token counts that they are the price of.
fn cost_details(total: NanoUsd, parts: CostParts) -> String {
    let CostParts { input, cached_input, cache_write, audio_input, output, reasoning, audio_output } = parts;
    let named = [
        ("input", input),
        ("input_cached_tokens", cached_input),
        ("input_cache_creation", cache_write),
        ("input_audio_tokens", audio_input),
        ("output", output),
        ("output_reasoning_tokens", reasoning),
        ("output_audio_tokens", audio_output),
        ("total", Some(total)),
    ];
    let told = named.into_iter().filter_map(|(name, cost)| Some((name.to_owned(), cost?.usd().into())));
    serde_json::Value::Object(told.collect()).to_string()
}

/// Token counts as they are known.
#[derive(Clone, Copy, Debug)]
struct Counts {
    input: Option<u64>,
    output: Option<u64>,
    cached: Option<u64>,
    written: Option<u64>,
    reasoning: Option<u64>,
}

impl Counts {
    fn of(exchange: &Exchange) -> Self {
        let usage = exchange.answer.usage.unwrap_or_default();
        Self {
            input: usage.input,
            output: exchange.answer.tokens.map(|tokens| tokens.count),
            cached: usage.cached_input,
            written: usage.cache_write_input,
            reasoning: usage.reasoning,
        }
    }

    /// The sum, where both sides are known or the answer has one side only.
    fn total(self) -> Option<u64> {
        match (self.input, self.output) {
            (Some(input), output) => Some(input.saturating_add(output.unwrap_or(0))),
            (None, _) => None,
        }
    }

    /// As Langfuse has it: parts that do not overlap, and their sum.
    fn details(self) -> Option<String> {
        if self.input.is_none() && self.output.is_none() {
            return None;
        }
        let mut parts = serde_json::Map::new();
        let mut total = 0_u64;
        let mut part = |name: &str, count: Option<u64>| {
            if let Some(count) = count {
                total = total.saturating_add(count);
                parts.insert(name.to_owned(), count.into());
            }
        };
        let some = |count: Option<u64>| count.filter(|count| *count > 0);
        let (cached, written, reasoning) = (some(self.cached), some(self.written), some(self.reasoning));
        let less = |whole: u64, parts: [Option<u64>; 2]| {
            parts.into_iter().flatten().fold(whole, u64::saturating_sub)
        };
        part("input", self.input.map(|input| less(input, [cached, written])));
        part("input_cached_tokens", self.input.and(cached));
        part("input_cache_creation", self.input.and(written));
        part("output", self.output.map(|output| less(output, [reasoning, None])));
        part("output_reasoning_tokens", self.output.and(reasoning));
        parts.insert("total".to_owned(), total.into());
        Some(serde_json::Value::Object(parts).to_string())
    }
}
