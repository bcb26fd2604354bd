//! The span of a call of a model, after OpenTelemetry's conventions for generative AI.

use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use weir_core::dialect::Dialect;
use weir_core::exchange::Exchange;
use weir_core::setting::{Setting, SettingName};
use weir_core::timeline::{Mark, Offset};
use weir_core::usage::Usage;

use super::verdict::Verdict;
use super::{Attributes, Subject, backends, content, http, phases};
use crate::otlp::config::GenAiNames;
use crate::semconv::{self, Side};

/// Whether an exchange is a call of a model.
pub(super) fn is_told(exchange: &Exchange) -> bool {
    exchange.request.dialect != Dialect::Other
}

/// The whole call, from the request head to the end: what waited in Weir waited for the model too.
pub(super) fn call(subject: &Subject<'_>) -> Span {
    let exchange = subject.exchange;
    let verdict = Verdict::of(exchange, Side::Client);
    let operation = semconv::operation(exchange.request.dialect);
    let mut list = Attributes::with_room(64);
    list.some_text("gen_ai.operation.name", operation);
    list.text("gen_ai.provider.name", subject.provider());
    http::upstream(subject, &mut list);
    list.some_text("error.type", verdict.error_type);
    asked(exchange, &mut list);
    answered(exchange, &mut list);
    if let Some(usage) = &exchange.answer.usage {
        cached(usage, subject.rules.names, &mut list);
    }
    measured(exchange, &mut list);
    backends::call(subject, &verdict, &mut list);
    content::add(subject, &mut list);
    let what = operation.unwrap_or(exchange.request.dialect.as_str());
    let name = match &exchange.request.model {
        Some(model) => format!("{what} {model}"),
        None => what.to_owned(),
    };
    let mut span = subject.span(name, SpanKind::Client, subject.whole(), subject.place.client_span);
    span.parent_span_id = subject.place.server_span.bytes().to_vec();
    span.attributes = list.list();
    span.events = phases::events(subject);
    span.status = Some(verdict.status());
    span
}

fn asked(exchange: &Exchange, list: &mut Attributes) {
    let request = &exchange.request;
    list.some_text("gen_ai.request.model", request.model.as_deref());
    if request.stream {
        list.flag("gen_ai.request.stream", true);
    }
    if request.choices > 1 {
        list.count("gen_ai.request.choice.count", request.choices.into());
    }
    list.some_text("gen_ai.conversation.id", request.caller.session.as_deref());
    for setting in &request.settings {
        set(setting, list);
    }
}

/// A setting in its own type. One of another type than its dialect allows is left out.
fn set(Setting { name, value }: &Setting, list: &mut Attributes) {
    let number = || serde_json::from_str::<f64>(value).ok();
    let text = || serde_json::from_str::<String>(value).ok();
    let whole = || serde_json::from_str::<i64>(value).ok();
    match name {
        SettingName::Temperature => list.some_number("gen_ai.request.temperature", number()),
        SettingName::TopP => list.some_number("gen_ai.request.top_p", number()),
        SettingName::TopK => list.some_number("gen_ai.request.top_k", number()),
        SettingName::FrequencyPenalty => list.some_number("gen_ai.request.frequency_penalty", number()),
        SettingName::PresencePenalty => list.some_number("gen_ai.request.presence_penalty", number()),
        SettingName::MaxTokens => {
            if let Some(value) = whole() {
                list.integer("gen_ai.request.max_tokens", value);
            }
        }
        SettingName::Seed => {
            if let Some(value) = whole() {
                list.integer("gen_ai.request.seed", value);
            }
        }
        SettingName::Stop => {
            let several = serde_json::from_str::<Vec<String>>(value).ok();
            if let Some(texts) = several.or_else(|| text().map(|text| vec![text])) {
                list.texts("gen_ai.request.stop_sequences", texts);
            }
        }
        SettingName::ServiceTier => list.some_text("openai.request.service_tier", text()),
        SettingName::ReasoningEffort => list.some_text("gen_ai.request.reasoning.level", text()),
        SettingName::ResponseFormat => {
            let kind = text().map(|kind| if kind.starts_with("json") { "json" } else { "text" });
            list.some_text("gen_ai.output.type", kind);
        }
    }
}

fn answered(exchange: &Exchange, list: &mut Attributes) {
    let answer = &exchange.answer;
    list.some_text("gen_ai.response.id", answer.id.as_deref());
    list.some_text("gen_ai.response.model", answer.model.as_deref());
    if !answer.finish_reasons.is_empty() {
        let reasons = answer.finish_reasons.iter().map(ToString::to_string);
        list.texts("gen_ai.response.finish_reasons", reasons);
    }
    if answer.stream {
        let first = exchange.timeline.at(Mark::FirstEvent).map(Offset::as_secs_f64);
        list.some_number("gen_ai.response.time_to_first_chunk", first);
    }
    list.some_count("gen_ai.usage.input_tokens", answer.usage.and_then(|usage| usage.input));
    list.some_count("gen_ai.usage.output_tokens", answer.tokens.map(|tokens| tokens.count));
}

fn cached(usage: &Usage, names: GenAiNames, list: &mut Attributes) {
    list.some_count("gen_ai.usage.cache_read.input_tokens", usage.cached_input);
    if names.has_v1_41() {
        list.some_count("gen_ai.usage.cache_creation.input_tokens", usage.cache_write_input);
    }
    if names.has_next() {
        list.some_count("gen_ai.usage.cache_write.input_tokens", usage.cache_write_input);
    }
    list.some_count("gen_ai.usage.reasoning.output_tokens", usage.reasoning);
}

/// What no convention has a name for.
fn measured(exchange: &Exchange, list: &mut Attributes) {
    let timeline = &exchange.timeline;
    let seconds = |time: Option<Offset>| time.map(Offset::as_secs_f64);
    list.text("weir.request_id", &*exchange.request_id);
    list.text("weir.outcome", exchange.outcome.as_str());
    list.some_text("weir.error_type", exchange.error_type.map(|class| class.as_str()));
    list.some_number("weir.ttft", seconds(timeline.ttft()));
    list.some_number("weir.upstream_ttft", seconds(timeline.upstream_ttft()));
    list.some_number("weir.ttfa", seconds(timeline.at(Mark::FirstAnswer)));
    list.some_number("weir.tpot", exchange.tpot());
    list.some_number("weir.tokens_per_second", exchange.tps());
    list.some_number("weir.e2e", seconds(timeline.e2e()));
    list.some_number("weir.queue_wait", seconds(timeline.queue_wait()));
    list.some_number("weir.overhead", seconds(exchange.overhead()));
    list.some_text("weir.tokens.provenance", exchange.answer.tokens.map(|tokens| tokens.provenance.as_str()));
    let Some(output) = &exchange.answer.output else { return };
    list.count("weir.chunks", output.chunks);
    list.some_number("weir.itl.mean", seconds(output.gaps.itl.mean()));
    list.some_number("weir.itl.p50", seconds(output.gaps.itl.quantile(0.5)));
    list.some_number("weir.itl.p95", seconds(output.gaps.itl.quantile(0.95)));
    list.some_number("weir.itl.max", seconds(output.gaps.itl.max()));
    for (name, stalls) in [("upstream", &output.upstream_stalls), ("downstream", &output.downstream_stalls)] {
        if stalls.count > 0 {
            list.count(&format!("weir.{name}_stalls"), stalls.count.into());
            list.number(&format!("weir.{name}_stall_seconds"), stalls.total.as_secs_f64());
        }
    }
}

impl Subject<'_> {
    /// Whose kind of API it is: what the configuration says, else what the dialect lets suppose.
    pub(super) fn provider(&self) -> &str {
        if let Some(provider) = self.upstream.and_then(|upstream| upstream.provider.as_deref()) {
            return provider;
        }
        semconv::provider(self.exchange.request.dialect)
    }
}
