//! What spans say of an exchange, and what backends make of that.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use weir_analysis::cost::{CostParts, NanoUsd, Source, Valuation};
use weir_core::dialect::Dialect;
use weir_core::exchange::{Exchange, Side, Stall};
use weir_core::outcome::{ErrorType, Outcome};
use weir_core::setting::{Setting, SettingName};
use weir_core::timeline::{Mark, Offset};
use weir_core::trace::{ParentSpan, SpanId};

use super::SpanWriter;
use crate::config::{Scheme, UpstreamFacts};
use crate::fixture::{MS, RECEIVED, exchange, stream, turned_away};
use crate::otlp::Surroundings;
use crate::otlp::config::{GenAiNames, SpanRules};
use crate::valued::Valued;

fn writer(as_root: bool, names: GenAiNames) -> SpanWriter {
    let facts = UpstreamFacts {
        name: "default".into(),
        provider: Some("vllm".into()),
        address: "engine.internal".into(),
        port: 8000,
    };
    let around = Surroundings { upstreams: vec![facts], scheme: Scheme::Https };
    SpanWriter::new(SpanRules { names, ..SpanRules::default() }, as_root, around)
}

fn spans(exchange: &Exchange) -> Vec<Span> {
    writer(false, GenAiNames::V1_41).spans(&valued(exchange))
}

fn valued(exchange: &Exchange) -> Valued {
    Valued { exchange: exchange.clone(), valuation: Valuation::UNKNOWN }
}

/// The attributes by their names; each stands once.
fn attributes(span: &Span) -> BTreeMap<&str, Value> {
    let value = |attribute: &KeyValue| attribute.value.clone().unwrap().value.unwrap();
    let all: BTreeMap<_, _> =
        span.attributes.iter().map(|attribute| (attribute.key.as_str(), value(attribute))).collect();
    assert_eq!(all.len(), span.attributes.len(), "{:?}", span.attributes);
    all
}

fn text<'a>(attributes: &'a BTreeMap<&str, Value>, key: &str) -> Option<&'a str> {
    attributes.get(key).map(|value| match value {
        Value::StringValue(text) => text.as_str(),
        other => panic!("{key}: {other:?}"),
    })
}

fn count(attributes: &BTreeMap<&str, Value>, key: &str) -> Option<i64> {
    attributes.get(key).map(|value| match value {
        Value::IntValue(number) => *number,
        other => panic!("{key}: {other:?}"),
    })
}

fn number(attributes: &BTreeMap<&str, Value>, key: &str) -> f64 {
    match attributes.get(key) {
        Some(Value::DoubleValue(number)) => *number,
        other => panic!("{key}: {other:?}"),
    }
}

/// A stream with everything that there is to say.
fn full() -> Exchange {
    let mut exchange = stream("m");
    exchange.request.stream = true;
    exchange.request.choices = 2;
    exchange.request.caller.session = Some("s-1".into());
    exchange.request.caller.user = Some("alice".into());
    let setting = |name, value: &str| Setting { name, value: value.into() };
    exchange.request.settings = [
        setting(SettingName::Temperature, "0.5"),
        setting(SettingName::MaxTokens, "64"),
        setting(SettingName::Seed, "-7"),
        setting(SettingName::Stop, "\"END\""),
        setting(SettingName::ResponseFormat, "\"json_schema\""),
        setting(SettingName::TopP, "\"much\""),
    ]
    .into();
    exchange.answer.id = Some("chatcmpl-1".into());
    let usage = exchange.answer.usage.as_mut().unwrap();
    (usage.cache_write_input, usage.reasoning) = (Some(2), Some(1));
    let output = exchange.answer.output.as_mut().unwrap();
    let stall = Stall { from: Offset(120 * MS), length: Offset(30 * MS), side: Side::Upstream };
    output.upstream_stalls.add(stall.length);
    output.stalls = vec![stall];
    exchange
}

#[test]
fn an_exchange_is_a_server_span_a_call_and_its_phases() {
    let all = spans(&full());
    let names: Vec<_> = all.iter().map(|span| (span.name.as_str(), span.kind())).collect();
    let expected = [
        ("POST /v1/chat/completions", SpanKind::Server),
        ("chat m", SpanKind::Client),
        ("queue", SpanKind::Internal),
        ("connect", SpanKind::Internal),
        ("prefill", SpanKind::Internal),
        ("decode", SpanKind::Internal),
    ];
    assert_eq!(names, expected);
    let at = |ms: u64| RECEIVED.0 + ms * MS;
    let times: Vec<_> = all.iter().map(|span| (span.start_time_unix_nano, span.end_time_unix_nano)).collect();
    let expected = [
        (at(0), at(151)),
        (at(0), at(151)),
        (at(1), at(21)),
        (at(21), at(22)),
        (at(23), at(100)),
        (at(100), at(150)),
    ];
    assert_eq!(times, expected);
    let (server, call) = (&all[0], &all[1]);
    assert!(server.parent_span_id.is_empty());
    assert_eq!(call.parent_span_id, server.span_id);
    assert!(all[2..].iter().all(|phase| phase.parent_span_id == call.span_id));
    let ids: std::collections::BTreeSet<_> = all[1..].iter().map(|span| &span.span_id).collect();
    assert_eq!(ids.len(), 5);
    assert!(all.iter().all(|span| span.trace_id == [0xab; 16] && span.end_time_unix_nano > 0));
    assert_eq!(spans(&full()), all, "sent again, they are the same spans");
}

#[test]
fn the_call_is_told_in_the_words_of_the_conventions() {
    let all = spans(&full());
    let list = attributes(&all[1]);
    for (key, expected) in [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "vllm"),
        ("gen_ai.request.model", "m"),
        ("gen_ai.response.model", "m-0613"),
        ("gen_ai.response.id", "chatcmpl-1"),
        ("gen_ai.conversation.id", "s-1"),
        ("gen_ai.output.type", "json"),
        ("server.address", "engine.internal"),
        ("weir.outcome", "completed"),
        ("weir.tokens.provenance", "reported"),
    ] {
        assert_eq!(text(&list, key), Some(expected), "{key}");
    }
    for (key, expected) in [
        ("server.port", 8000),
        ("gen_ai.request.choice.count", 2),
        ("gen_ai.request.max_tokens", 64),
        ("gen_ai.request.seed", -7),
        ("gen_ai.usage.input_tokens", 9),
        ("gen_ai.usage.output_tokens", 4),
        ("gen_ai.usage.cache_read.input_tokens", 3),
        ("gen_ai.usage.cache_creation.input_tokens", 2),
        ("gen_ai.usage.reasoning.output_tokens", 1),
        ("weir.upstream_stalls", 1),
    ] {
        assert_eq!(count(&list, key), Some(expected), "{key}");
    }
    for (key, expected) in [
        ("gen_ai.request.temperature", 0.5),
        ("gen_ai.response.time_to_first_chunk", 0.09),
        ("weir.ttft", 0.1),
        ("weir.upstream_ttft", 0.077),
        ("weir.queue_wait", 0.02),
        ("weir.upstream_stall_seconds", 0.03),
    ] {
        assert!((number(&list, key) - expected).abs() < 1e-12, "{key}");
    }
    assert_eq!(list["gen_ai.request.stream"], Value::BoolValue(true));
    assert!(!list.contains_key("gen_ai.request.top_p"), "of another type than the API allows");
    assert!(!list.contains_key("error.type") && !list.contains_key("gen_ai.usage.cache_write.input_tokens"));
    let events: Vec<_> =
        all[1].events.iter().map(|event| (event.name.as_str(), event.time_unix_nano)).collect();
    let at = |ms: u64| RECEIVED.0 + ms * MS;
    assert_eq!(events, [("First Token Stream Event", at(100)), ("weir.upstream_stall", at(120))]);
}

#[test]
fn an_edition_of_the_conventions_can_be_chosen() {
    let keys = |names| {
        let all = writer(false, names).spans(&valued(&full()));
        let list = attributes(&all[1]);
        ["cache_creation", "cache_write"]
            .map(|word| list.contains_key(format!("gen_ai.usage.{word}.input_tokens").as_str()))
    };
    assert_eq!(keys(GenAiNames::V1_41), [true, false]);
    assert_eq!(keys(GenAiNames::Next), [false, true]);
    assert_eq!(keys(GenAiNames::Both), [true, true]);
}

#[test]
fn a_client_that_names_its_span_is_the_parent() {
    let mut exchange = full();
    let parent = ParentSpan { span_id: SpanId::new([9; 8]).unwrap(), sampled: true, state: "a=1".into() };
    exchange.trace.as_mut().unwrap().parent = Some(parent);
    let all = spans(&exchange);
    assert_eq!(all[0].parent_span_id, [9; 8]);
    assert_eq!((all[0].flags, all[1].flags), (0x301, 0x101));
    assert!(all.iter().all(|span| span.trace_state == "a=1"));
}

#[test]
fn every_way_to_end_has_its_spans_and_its_status() {
    use ErrorType::*;
    let dispatched = [(Mark::Queued, 1), (Mark::Admitted, 1), (Mark::Connected, 1), (Mark::Dispatched, 2)];
    let ended = |more: &[(Mark, u64)]| [&dispatched[..], more, &[(Mark::Ended, 90)]].concat();
    let answered = ended(&[(Mark::ResponseHead, 30)]);
    let streamed = ended(&[(Mark::ResponseHead, 30), (Mark::FirstToken, 40), (Mark::LastToken, 60)]);
    for (outcome, status, error, marks, server, call) in [
        (Outcome::Completed, Some(200), None, &streamed, None, None),
        (Outcome::Completed, Some(200), Some(MissingDone), &streamed, None, None),
        (
            Outcome::Truncated,
            Some(200),
            Some(StreamTruncated),
            &streamed,
            Some("stream_truncated"),
            Some("stream_truncated"),
        ),
        (
            Outcome::StreamError,
            Some(200),
            Some(StreamError),
            &streamed,
            Some("stream_error"),
            Some("stream_error"),
        ),
        (Outcome::ClientGoneMidStream, Some(200), Some(ClientDisconnectMidStream), &streamed, None, None),
        (
            Outcome::ClientGoneBeforeFirstToken,
            None,
            Some(ClientDisconnectBeforeFirstToken),
            &answered,
            None,
            None,
        ),
        (Outcome::UpstreamError, Some(429), Some(RateLimited), &answered, None, Some("rate_limited")),
        (
            Outcome::UpstreamError,
            Some(503),
            Some(Overloaded),
            &answered,
            Some("overloaded"),
            Some("overloaded"),
        ),
        (
            Outcome::UpstreamUnreachable,
            Some(502),
            Some(UpstreamConnect),
            &ended(&[]),
            Some("upstream_connect"),
            Some("upstream_connect"),
        ),
        (
            Outcome::Timeout,
            Some(504),
            Some(UpstreamTimeoutHeaders),
            &ended(&[]),
            Some("upstream_timeout_headers"),
            Some("upstream_timeout_headers"),
        ),
    ] {
        let ended = exchange(Dialect::Chat, status, outcome, error, marks);
        let all = spans(&ended);
        assert_eq!(all.iter().filter(|span| span.kind() == SpanKind::Server).count(), 1);
        assert_eq!(all.iter().filter(|span| span.kind() == SpanKind::Client).count(), 1);
        for (span, expected) in [(&all[0], server), (&all[1], call)] {
            let code = span.status.as_ref().unwrap().code();
            assert_eq!(code == StatusCode::Error, expected.is_some(), "{outcome} {}", span.name);
            assert_eq!(text(&attributes(span), "error.type"), expected, "{outcome} {}", span.name);
            assert_eq!(span.end_time_unix_nano, RECEIVED.0 + 90 * MS);
        }
    }
    let refused = spans(&turned_away());
    assert_eq!(refused[1].status.as_ref().unwrap().message, "queue_full: proxy_queue_full");
    assert_eq!(refused.len(), 3, "server, call and queue");
}

#[test]
fn what_is_no_call_of_a_model_is_told_as_http_alone() {
    let marks = [(Mark::Queued, 1), (Mark::Dispatched, 2), (Mark::ResponseHead, 5), (Mark::Ended, 9)];
    let mut other =
        exchange(Dialect::Other, Some(404), Outcome::UpstreamError, Some(ErrorType::NotFound), &marks);
    other.request.method = "BREW".into();
    let all = spans(&other);
    let names: Vec<_> = all.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(names, ["HTTP", "HTTP"]);
    let (server, client) = (attributes(&all[0]), attributes(&all[1]));
    assert_eq!(text(&server, "http.request.method"), Some("_OTHER"));
    assert_eq!(text(&server, "http.request.method_original"), Some("BREW"));
    assert_eq!(
        (text(&server, "url.scheme"), count(&server, "http.response.status_code")),
        (Some("https"), Some(404))
    );
    assert_eq!((text(&server, "error.type"), text(&client, "error.type")), (None, Some("not_found")));
    assert_eq!(all[1].start_time_unix_nano, RECEIVED.0 + 2 * MS);
    assert!(!client.keys().any(|key| key.starts_with("gen_ai") || key.starts_with("llm")));
    other.trace = None;
    assert!(spans(&other).is_empty());
}

/// What Langfuse makes of a span, by the order in which it looks for things.
#[derive(Debug, PartialEq)]
struct Observation {
    kind: String,
    model: Option<String>,
    ttft_ms: Option<i64>,
    usage: BTreeMap<String, i64>,
    cost: BTreeMap<String, f64>,
    level: String,
    session: Option<String>,
    user: Option<String>,
    /// Whether the trace is shown with a name although its parent did not come.
    rooted: bool,
}

fn langfuse(span: &Span) -> Observation {
    let list = attributes(span);
    let first = |keys: &[&str]| keys.iter().find_map(|key| text(&list, key)).map(str::to_owned);
    let object = |key: &str| -> serde_json::Map<String, serde_json::Value> {
        text(&list, key).map(|json| serde_json::from_str(json).unwrap()).unwrap_or_default()
    };
    let kind = first(&["langfuse.observation.type"])
        .or_else(|| {
            first(&["openinference.span.kind"]).filter(|kind| kind == "LLM").map(|_| "generation".into())
        })
        .unwrap_or_else(|| "span".into());
    let completion = first(&["langfuse.observation.completion_start_time"]).map(|time| {
        let time: jiff::Timestamp = time.parse().unwrap();
        time.as_millisecond()
    });
    let started = i64::try_from(span.start_time_unix_nano / 1_000_000).unwrap();
    let failed = span.status.as_ref().is_some_and(|status| status.code() == StatusCode::Error);
    let by_status = if failed { "ERROR" } else { "DEFAULT" };
    Observation {
        kind,
        model: first(&[
            "langfuse.observation.model.name",
            "gen_ai.response.model",
            "gen_ai.request.model",
            "llm.model_name",
        ]),
        ttft_ms: completion.map(|completion| completion - started),
        usage: object("langfuse.observation.usage_details")
            .into_iter()
            .map(|(key, value)| (key, value.as_i64().unwrap()))
            .collect(),
        cost: object("langfuse.observation.cost_details")
            .into_iter()
            .map(|(key, value)| (key, value.as_f64().unwrap()))
            .collect(),
        level: first(&["langfuse.observation.level"]).unwrap_or_else(|| by_status.to_owned()),
        session: first(&["langfuse.session.id", "session.id", "gen_ai.conversation.id"]),
        user: first(&["langfuse.user.id", "user.id"]),
        rooted: span.parent_span_id.is_empty() || text(&list, "langfuse.internal.as_root") == Some("true"),
    }
}

#[test]
fn langfuse_sees_a_generation_with_its_first_token_and_usage() {
    let all = spans(&full());
    let usage = [
        ("input", 4),
        ("input_cached_tokens", 3),
        ("input_cache_creation", 2),
        ("output", 3),
        ("output_reasoning_tokens", 1),
        ("total", 13),
    ];
    let expected = Observation {
        kind: "generation".into(),
        model: Some("m-0613".into()),
        ttft_ms: Some(100),
        usage: usage.map(|(key, count)| (key.to_owned(), count)).into(),
        cost: BTreeMap::new(),
        level: "DEFAULT".into(),
        session: Some("s-1".into()),
        user: Some("alice".into()),
        rooted: false,
    };
    assert_eq!(langfuse(&all[1]), expected);
    let root = langfuse(&all[0]);
    assert_eq!((root.kind.as_str(), root.rooted, root.user.as_deref()), ("span", true, Some("alice")));
    // Ids are what Langfuse refuses a whole batch for.
    assert!(all.iter().all(|span| span.trace_id.len() == 16 && span.span_id.len() == 8));
}

#[test]
fn a_cost_is_told_with_its_parts_and_where_it_is_known_from() {
    let nano = |amount| Some(NanoUsd(amount));
    let parts = CostParts {
        input: nano(100_000),
        cached_input: nano(25_000),
        output: nano(300_000),
        reasoning: nano(75_000),
        ..CostParts::default()
    };
    let valuation = Valuation {
        total: nano(500_000),
        parts: Some(parts),
        estimated: true,
        source: Source::PriceBook,
        ..Valuation::UNKNOWN
    };
    let told = |valuation| writer(false, GenAiNames::V1_41).spans(&Valued { exchange: full(), valuation });
    let all = told(valuation);
    let list = attributes(&all[1]);
    let expected = [
        ("input", 0.000_1),
        ("input_cached_tokens", 0.000_025),
        ("output", 0.000_3),
        ("output_reasoning_tokens", 0.000_075),
        ("total", 0.000_5),
    ];
    assert_eq!(langfuse(&all[1]).cost, expected.map(|(key, usd)| (key.to_owned(), usd)).into());
    assert_eq!([number(&list, "gen_ai.usage.cost"), number(&list, "llm.cost.total")], [0.000_5; 2]);
    assert_eq!(text(&list, "weir.cost_source"), Some("price_book"));
    assert_eq!(list["weir.cost_estimated"], Value::BoolValue(true));
    // Neither on the spans around it, or it would be added up twice, nor where it is not known.
    let is_cost = |span: &Span| attributes(span).keys().any(|key| key.contains("cost"));
    assert_eq!(all.iter().filter(|span| is_cost(span)).count(), 1);
    assert!(!told(Valuation::UNKNOWN).iter().any(is_cost));
    let whole = Valuation { parts: None, estimated: false, source: Source::Upstream, ..valuation };
    assert_eq!(langfuse(&told(whole)[1]).cost, [("total".to_owned(), 0.000_5)].into());
}

#[test]
fn langfuse_sees_how_a_call_failed() {
    let level = |outcome, error| {
        let marks = [(Mark::Queued, 1), (Mark::Dispatched, 2), (Mark::Ended, 9)];
        langfuse(&spans(&exchange(Dialect::Chat, Some(200), outcome, error, &marks))[1]).level
    };
    assert_eq!(level(Outcome::Completed, None), "DEFAULT");
    assert_eq!(level(Outcome::Completed, Some(ErrorType::MissingDone)), "WARNING");
    assert_eq!(level(Outcome::ClientGoneMidStream, Some(ErrorType::ClientDisconnectMidStream)), "WARNING");
    assert_eq!(level(Outcome::Truncated, Some(ErrorType::StreamTruncated)), "ERROR");
}

#[test]
fn below_a_span_that_langfuse_was_not_sent_the_root_is_marked() {
    let mut exchange = full();
    let parent = ParentSpan { span_id: SpanId::new([9; 8]).unwrap(), sampled: true, state: "".into() };
    exchange.trace.as_mut().unwrap().parent = Some(parent);
    assert!(!langfuse(&spans(&exchange)[0]).rooted);
    let marked = writer(true, GenAiNames::V1_41).spans(&valued(&exchange));
    assert_eq!(marked.iter().filter(|span| langfuse(span).rooted).count(), 1);
    assert!(langfuse(&marked[0]).rooted);
}

#[test]
fn phoenix_sees_its_own_names() {
    let all = spans(&full());
    let list = attributes(&all[1]);
    for (key, expected) in [
        ("openinference.span.kind", "LLM"),
        ("llm.model_name", "m"),
        ("llm.finish_reason", "stop"),
        ("session.id", "s-1"),
        ("user.id", "alice"),
    ] {
        assert_eq!(text(&list, key), Some(expected), "{key}");
    }
    for (key, expected) in [
        ("llm.token_count.prompt", 9),
        ("llm.token_count.completion", 4),
        ("llm.token_count.total", 13),
        ("llm.token_count.prompt_details.cache_read", 3),
        ("llm.token_count.prompt_details.cache_write", 2),
        ("llm.token_count.completion_details.reasoning", 1),
    ] {
        assert_eq!(count(&list, key), Some(expected), "{key}");
    }
    let parameters: serde_json::Value =
        serde_json::from_str(text(&list, "llm.invocation_parameters").unwrap()).unwrap();
    assert_eq!(parameters["max_tokens"], 64);
    assert_eq!(parameters["stop"], "END");
    assert!(all[2..].iter().all(|span| text(&attributes(span), "openinference.span.kind") == Some("CHAIN")));
    let embedding = exchange(Dialect::Embeddings, Some(200), Outcome::Completed, None, &[(Mark::Ended, 9)]);
    assert_eq!(text(&attributes(&spans(&embedding)[1]), "openinference.span.kind"), Some("EMBEDDING"));
}

#[test]
fn nothing_of_a_prompt_or_an_output_is_told() {
    let all = spans(&full());
    for key in all.iter().flat_map(|span| attributes(span).into_keys().map(str::to_owned).collect::<Vec<_>>())
    {
        assert!(
            !key.contains("messages") && !key.contains("input.value") && !key.contains("output.value"),
            "{key}"
        );
    }
}
