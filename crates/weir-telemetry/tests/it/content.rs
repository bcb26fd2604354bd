//! Content gets onto exported spans, redacted, and nowhere else.

use weir_core::content::{Content, Input, Output, Part, Said};
use weir_core::exchange::Exchange;
use weir_telemetry::otlp::config::{Protocol, SpanRules};
use weir_telemetry::{Destination, TelemetryConfig};

use crate::collector::{Collector, Mood};
use crate::export::{config, destination, traced};
use crate::sut::Sut;

/// A stream whose content has two words in it that stand nowhere else.
fn with_content() -> Exchange {
    let body = r#"{"messages":[{"role":"user","content":"aardvark secret"}]}"#.into();
    let said = Said { parts: vec![Part::Text("bandicoot secret".into())], ..Said::default() };
    let output = Output { choices: vec![said], cut: false };
    let content = Content { input: Some(Input { body, cut: false }), output };
    Exchange { content: Some(Box::new(content)), ..traced(1) }
}

#[tokio::test]
async fn content_is_exported_redacted_and_written_down_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let (log, record) = (folder.path().join("access.log"), folder.path().join("record"));
    let collector = Collector::start([Mood::Takes]).await;
    let mut config = config(vec![destination(&collector, Protocol::HttpProtobuf)]);
    let redact = vec![regex::Regex::new("secret").unwrap()];
    config.otlp.as_mut().unwrap().spans = SpanRules { redact, ..SpanRules::default() };
    let access_log = Some(Destination::File(log.clone()));
    let sut = Sut::start(TelemetryConfig { access_log, record: Some(record.clone()), ..config });
    sut.send(with_content()).await;
    let page = sut.text().await;
    collector.until(|collector| !collector.spans().is_empty()).await;
    sut.shutdown().await;
    let exported = format!("{:?}", collector.spans());
    assert!(exported.contains("aardvark [redacted]") && exported.contains("bandicoot [redacted]"));
    assert!(!exported.contains("secret"));
    for written in [page, std::fs::read_to_string(log).unwrap(), std::fs::read_to_string(record).unwrap()] {
        assert!(!written.is_empty());
        assert!(!written.contains("aardvark") && !written.contains("bandicoot"), "{written}");
    }
}
