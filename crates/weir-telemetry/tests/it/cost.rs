//! What an exchange costs is worked out once, and told alike wherever it is told.

use std::time::Duration;

use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use weir_analysis::api::ExchangeFilter;
use weir_analysis::cost::{PriceBook, PriceOverride};
use weir_core::dialect::Dialect;
use weir_core::exchange::Exchange;
use weir_core::outcome::Outcome;
use weir_core::timeline::Mark;
use weir_core::usage::Usage;
use weir_telemetry::otlp::config::Protocol;
use weir_telemetry::{Destination, TelemetryConfig};

use crate::collector::{Collector, Mood};
use crate::export::{config, destination, traced};
use crate::sut::{Sut, exchange};

/// Dollars for a million tokens, of the models `own` and `half`.
fn prices() -> PriceBook {
    let price = PriceOverride {
        model: "own".into(),
        input: Some(2.0),
        output: Some(10.0),
        cached_input: Some(0.5),
        ..PriceOverride::default()
    };
    let half = PriceOverride { model: "half".into(), cached_input: None, ..price.clone() };
    PriceBook::default().with_overrides(&[price, half]).unwrap()
}

/// A stream of this model, of 9 tokens in, 3 of them cached, and 4 out.
fn of_model(id: u64, model: &str) -> Exchange {
    let mut exchange = traced(id);
    exchange.request.model = Some(model.into());
    exchange.answer.model = Some(model.into());
    exchange.answer.usage =
        Some(Usage { input: Some(9), output: Some(4), cached_input: Some(3), ..Usage::default() });
    exchange
}

/// The cost of a span, in dollars: as a number, by Langfuse's parts, its source, and whether it is estimated.
fn told(span: &Span) -> Option<(f64, Value, String, bool)> {
    let find = |key: &str| {
        let found = span.attributes.iter().find(|attribute| attribute.key == key)?;
        found.value.clone()?.value
    };
    let text = |key| match find(key) {
        Some(Any::StringValue(text)) => Some(text),
        _ => None,
    };
    let Some(Any::DoubleValue(cost)) = find("gen_ai.usage.cost") else { return None };
    let Some(Any::BoolValue(estimated)) = find("weir.cost_estimated") else { return None };
    let details = serde_json::from_str(&text("langfuse.observation.cost_details")?).unwrap();
    Some((cost, details, text("weir.cost_source")?, estimated))
}

async fn until(is: impl Fn() -> bool) {
    let waited = tokio::time::timeout(Duration::from_secs(30), async {
        while !is() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    waited.await.unwrap();
}

/// How many calls of models a collector was told of.
fn calls(collector: &Collector) -> usize {
    collector.spans().iter().filter(|span| span.name.starts_with("chat ")).count()
}

#[tokio::test]
async fn a_cost_is_the_same_in_the_log_the_list_the_span_and_the_counter() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let collector = Collector::start([Mood::Takes]).await;
    let mut config = config(vec![destination(&collector, Protocol::HttpProtobuf)]);
    config.access_log = Some(Destination::File(path.clone()));
    config.observatory.prices = prices();
    let sut = Sut::start(config);
    let mut charged = of_model(1, "m");
    charged.answer.usage.as_mut().unwrap().cost_nano_usd = Some(140_000);
    let marks = [(Mark::Dispatched, 1), (Mark::Ended, 3)];
    let mut list = exchange(5, None, Some(200), Outcome::Completed, None, &marks);
    list.request.dialect = Dialect::Other;
    list.answer.usage = Some(Usage { cost_nano_usd: Some(7), ..Usage::default() });
    for exchange in [charged, of_model(2, "own"), of_model(3, "half"), of_model(4, "free"), list] {
        sut.send(exchange).await;
    }
    let text = || std::fs::read_to_string(&path).unwrap();
    until(|| text().lines().count() == 5 && calls(&collector) == 4).await;
    until(|| sut.snapshot.borrow().cost.this_hour.priced_requests == 3).await;
    let page = sut.page().await;

    // 6 × 2 + 3 × 0.5 + 4 × 10, and 9 × 2 + 4 × 10 where a cached token has no price of its own.
    let expected = [
        ("m", 0.000_14, "upstream", false, json!({"total": 0.000_14})),
        (
            "own",
            0.000_053_5,
            "override",
            false,
            json!({
                "input": 0.000_012, "input_cached_tokens": 0.000_001_5, "output": 0.000_04,
                "total": 0.000_053_5,
            }),
        ),
        (
            "half",
            0.000_058,
            "override",
            true,
            json!({
                "input": 0.000_012, "input_cached_tokens": 0.000_006, "output": 0.000_04,
                "total": 0.000_058,
            }),
        ),
    ];
    let lines: Vec<Value> = text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (reply, answer) = oneshot::channel();
    sut.asking.send((ExchangeFilter { limit: 9, ..ExchangeFilter::default() }, reply)).await.unwrap();
    let summaries = answer.await.unwrap();
    let spans = collector.spans();
    assert_eq!((lines.len(), summaries.len()), (5, 5));
    for (nth, (model, cost, source, estimated, details)) in expected.into_iter().enumerate() {
        let line = &lines[nth];
        assert_eq!(
            [&line["cost_usd"], &line["cost_source"], &line["cost_estimated"]],
            [&json!(cost), &json!(source), &json!(estimated)]
        );
        assert_eq!(summaries[4 - nth].cost_usd, Some(cost));
        let span = spans.iter().find(|span| span.name == format!("chat {model}")).unwrap();
        assert_eq!(told(span), Some((cost, details, source.to_owned(), estimated)));
        let labels = [("model", model), ("upstream", "default"), ("source", source)];
        assert_eq!(page.get("weir_cost_usd_total", &labels), Some(cost));
        assert_eq!(page.get("weir_cost_unpriced_requests_total", &labels[..2]), Some(0.0));
    }
    // Unknown is absent, and what is no call of a model is nobody's to price.
    for nth in [3, 4] {
        assert!(!lines[nth].as_object().unwrap().keys().any(|key| key.starts_with("cost")));
        assert_eq!(summaries[4 - nth].cost_usd, None);
    }
    assert_eq!(spans.iter().filter(|span| told(span).is_some()).count(), 3);
    assert_eq!(page.all("weir_cost_usd_total", &[]).count(), 3);
    assert_eq!(page.get("weir_cost_unpriced_requests_total", &[("model", "free")]), Some(1.0));
    assert_eq!(page.all("weir_cost_unpriced_requests_total", &[]).count(), 4);
    // 3 × (2 − 0.5) dollars a million.
    assert_eq!(page.get("weir_cost_saved_by_cache_usd_total", &[]), Some(0.000_004_5));
    let cost = sut.snapshot.borrow().cost.this_hour.cost_usd.unwrap();
    assert!((page.sum("weir_cost_usd_total", &[]) - cost).abs() < 1e-12, "{cost}");
    sut.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn sums_are_exact() {
    let sut = Sut::start(TelemetryConfig::default());
    for id in 0..1_000 {
        let mut charged = of_model(id, "m");
        charged.answer.usage.as_mut().unwrap().cost_nano_usd = Some(100_000);
        sut.send(charged).await;
    }
    let page = sut.page().await;
    assert_eq!(page.get("weir_cost_usd_total", &[]), Some(0.1));
    assert_eq!(page.get("weir_cost_saved_by_cache_usd_total", &[]), None);
    sut.shutdown().await;
}
