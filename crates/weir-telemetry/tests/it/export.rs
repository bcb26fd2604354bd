//! What becomes of exchanges and metrics that are exported, whatever the destination does.

use std::time::Duration;

use http::HeaderMap;
use weir_core::exchange::Exchange;
use weir_core::trace::{SpanId, TraceId, TracePlace};
use weir_telemetry::TelemetryConfig;
use weir_telemetry::otlp::Tls;
use weir_telemetry::otlp::config::{
    Batch, GenAiNames, HistogramKind, OtlpConfig, OtlpDestination, Protocol, Sampling, Signal, SpanRules,
    Temporality,
};

use crate::collector::{Collector, Mood};
use crate::page::Page;
use crate::sut::{Sut, stream};

const BOTH: [Protocol; 2] = [Protocol::HttpProtobuf, Protocol::Grpc];

fn signal(collector: &Collector, protocol: Protocol, path: &str) -> Signal {
    let url = collector.url();
    Signal {
        url: if protocol == Protocol::Grpc { url } else { format!("{url}{path}") },
        protocol,
        headers: HeaderMap::new(),
        timeout: Duration::from_millis(300),
        gzip: true,
        tls: Tls::default(),
    }
}

pub(crate) fn destination(collector: &Collector, protocol: Protocol) -> OtlpDestination {
    OtlpDestination {
        name: "sink".into(),
        traces: Some(signal(collector, protocol, "/v1/traces")),
        metrics: None,
        batch: Batch { queue: 2048, size: 4, delay: Duration::from_millis(150) },
        temporality: Temporality::Cumulative,
        histograms: HistogramKind::Exponential,
        as_root: false,
    }
}

pub(crate) fn config(destinations: Vec<OtlpDestination>) -> TelemetryConfig {
    let otlp = OtlpConfig {
        destinations,
        resource: vec![("service.name".to_owned(), "weir".to_owned())],
        sampling: Sampling::default(),
        spans: SpanRules { names: GenAiNames::V1_41, redact: Vec::new() },
        metric_interval: Duration::from_secs(1),
    };
    let flush_timeout = Duration::from_secs(2);
    TelemetryConfig { otlp: Some(otlp), flush_timeout, ..TelemetryConfig::default() }
}

/// An exchange of a trace of its own.
pub(crate) fn traced(id: u64) -> Exchange {
    let mut trace_id = [1; 16];
    trace_id[..8].copy_from_slice(&id.to_be_bytes());
    let place = TracePlace {
        trace_id: TraceId::new(trace_id).unwrap(),
        server_span: SpanId::new([2; 8]).unwrap(),
        client_span: SpanId::new([3; 8]).unwrap(),
        parent: None,
    };
    Exchange { trace: Some(Box::new(place)), ..stream(id, "m") }
}

/// How many exchanges met this fate.
fn fate(page: &Page, fate: &str) -> u64 {
    page.sum("weir_otlp_exchanges_total", &[("fate", fate)]) as u64
}

const FATES: [&str; 6] = ["confirmed", "unknown", "queue_full", "refused", "gave_up", "shutdown"];

/// The page, once nothing waits any more.
async fn settled(sut: &Sut) -> Page {
    for _ in 0..2_000 {
        let page = sut.page().await;
        if page.sum("weir_otlp_waiting", &[]) == 0.0 {
            return page;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("exchanges wait for ever");
}

/// Sends some exchanges to a collector in these moods. What was recorded is what is accounted for, and
/// the collector holds between what is confirmed and what is confirmed or unknown.
async fn accounted(protocol: Protocol, moods: &[Mood], expected: [u64; 6]) {
    const SENT: u64 = 10;
    let collector = Collector::start(moods).await;
    let sut = Sut::start(config(vec![destination(&collector, protocol)]));
    for id in 1..=SENT {
        sut.send(traced(id)).await;
    }
    let page = settled(&sut).await;
    let fates = FATES.map(|name| fate(&page, name));
    assert_eq!(fates, expected, "{protocol:?} {moods:?}");
    assert_eq!(fates.iter().sum::<u64>(), SENT);
    let held = collector.traces().len() as u64;
    assert!((fates[0]..=fates[0] + fates[1]).contains(&held), "{held} of {fates:?}");
    sut.shutdown().await;
}

#[tokio::test]
async fn what_is_taken_is_confirmed() {
    for protocol in BOTH {
        accounted(protocol, &[Mood::Takes], [10, 0, 0, 0, 0, 0]).await;
    }
}

#[tokio::test]
async fn what_is_refused_is_lost_and_not_sent_again() {
    for protocol in BOTH {
        for status in [400, 401, 404, 500] {
            let collector = Collector::start([Mood::Status(status, None)]).await;
            let sut = Sut::start(config(vec![destination(&collector, protocol)]));
            sut.send(traced(1)).await;
            collector.until(|collector| !collector.came().is_empty()).await;
            let page = settled(&sut).await;
            assert_eq!((fate(&page, "refused"), collector.came().len()), (1, 1), "{protocol:?} {status}");
            sut.shutdown().await;
        }
        accounted(protocol, &[Mood::Status(500, None)], [0, 0, 0, 10, 0, 0]).await;
    }
}

#[tokio::test]
async fn who_is_busy_is_asked_again_and_not_before_the_time_it_asks_for() {
    for protocol in BOTH {
        for after in [None, Some("1")] {
            let begun = tokio::time::Instant::now();
            let collector = Collector::start([Mood::Status(503, after), Mood::Takes]).await;
            let sut = Sut::start(config(vec![destination(&collector, protocol)]));
            sut.send(traced(1)).await;
            collector.until(|collector| !collector.traces().is_empty()).await;
            let page = settled(&sut).await;
            assert_eq!(fate(&page, "confirmed"), 1);
            assert_eq!(page.sum("weir_otlp_retries_total", &[]), 1.0);
            let took = begun.elapsed();
            let least = if after.is_some() { 1_000 } else { 375 };
            assert!(took >= Duration::from_millis(least), "{protocol:?} {after:?} {took:?}");
            sut.shutdown().await;
        }
    }
}

#[tokio::test]
async fn a_limit_of_grpc_that_names_no_time_is_a_refusal() {
    accounted(Protocol::Grpc, &[Mood::Status(429, None)], [0, 0, 0, 10, 0, 0]).await;
}

#[tokio::test]
async fn of_rejected_spans_nobody_knows_whose_they_are() {
    for protocol in BOTH {
        // Of three requests the second rejects two spans.
        accounted(protocol, &[Mood::Takes, Mood::TakesMost(2), Mood::Takes], [8, 2, 0, 0, 0, 0]).await;
    }
}

#[tokio::test]
async fn who_resets_or_hangs_may_have_taken_it_and_is_asked_again() {
    for protocol in BOTH {
        for mood in [Mood::Resets, Mood::Hangs] {
            accounted(protocol, &[mood, Mood::Takes], [10, 0, 0, 0, 0, 0]).await;
        }
    }
}

#[tokio::test]
async fn a_destination_that_comes_back_gets_what_waited() {
    for protocol in BOTH {
        let collector = Collector::start([Mood::Takes]).await;
        let address = collector.address;
        let sut = Sut::start(config(vec![destination(&collector, protocol)]));
        drop(collector);
        for id in 1..=10 {
            sut.send(traced(id)).await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(sut.page().await.sum("weir_otlp_waiting", &[]) > 0.0);
        let collector = Collector::bind(address, [Mood::Takes], None).await;
        collector.until(|collector| collector.traces().len() == 10).await;
        let page = settled(&sut).await;
        assert_eq!(fate(&page, "confirmed"), 10);
        sut.shutdown().await;
    }
}

#[tokio::test]
async fn a_full_queue_drops_what_comes_and_counts_it() {
    let collector = Collector::start([Mood::Hangs]).await;
    let mut destination = destination(&collector, Protocol::HttpProtobuf);
    destination.batch = Batch { queue: 8, size: 2, delay: Duration::from_millis(1) };
    let sut = Sut::start(config(vec![destination]));
    sut.send(traced(1)).await;
    collector.until(|collector| collector.came().len() == 1).await;
    for id in 2..=30 {
        sut.send(traced(id)).await;
    }
    let page = sut.page().await;
    // One is on its way, or two; eight wait.
    let (lost, waiting) = (fate(&page, "queue_full"), page.sum("weir_otlp_waiting", &[]) as u64);
    assert_eq!(lost + waiting, 30);
    assert!((9..=10).contains(&waiting), "{waiting}");
    collector.mood(Mood::Takes);
    let page = settled(&sut).await;
    assert_eq!(fate(&page, "confirmed"), waiting);
    sut.shutdown().await;
}

#[tokio::test]
async fn the_end_waits_for_what_is_queued_but_not_for_ever() {
    let collector = Collector::start([Mood::Takes]).await;
    let mut patient = destination(&collector, Protocol::Grpc);
    patient.batch.delay = Duration::from_secs(600);
    patient.batch.size = 512;
    let sut = Sut::start(config(vec![patient]));
    for id in 1..=100 {
        sut.send(traced(id)).await;
    }
    sut.shutdown().await;
    assert_eq!(collector.traces().len(), 100);

    let collector = Collector::start([Mood::Hangs]).await;
    let mut hung = destination(&collector, Protocol::HttpProtobuf);
    hung.traces.as_mut().unwrap().timeout = Duration::from_secs(600);
    let sut = Sut::start(config(vec![hung]));
    sut.send(traced(1)).await;
    let ended = tokio::time::timeout(Duration::from_secs(10), sut.shutdown()).await;
    assert!(ended.is_ok(), "the bound of the flush is two seconds");
}

#[tokio::test]
async fn each_destination_has_its_own_fate() {
    let (works, refuses) =
        (Collector::start([Mood::Takes]).await, Collector::start([Mood::Status(400, None)]).await);
    let mut other = destination(&refuses, Protocol::Grpc);
    other.name = "other".into();
    let sut = Sut::start(config(vec![destination(&works, Protocol::HttpProtobuf), other]));
    for id in 1..=5 {
        sut.send(traced(id)).await;
    }
    works.until(|collector| collector.traces().len() == 5).await;
    let page = settled(&sut).await;
    let of = |destination, fate| {
        page.sum("weir_otlp_exchanges_total", &[("destination", destination), ("fate", fate)])
    };
    assert_eq!((of("sink", "confirmed"), of("other", "refused")), (5.0, 5.0));
    sut.shutdown().await;
}

#[tokio::test]
async fn sampling_keeps_what_is_remarkable_and_counts_the_rest() {
    let collector = Collector::start([Mood::Takes]).await;
    let mut config = config(vec![destination(&collector, Protocol::HttpProtobuf)]);
    let sampling = Sampling { ratio: 0.0, slow: Some(Duration::from_secs(1)), ..Sampling::default() };
    config.otlp.as_mut().unwrap().sampling = sampling;
    let sut = Sut::start(config);
    let failed = Exchange { trace: traced(2).trace, ..crate::sut::turned_away(2, Some("m")) };
    sut.send(traced(1)).await;
    sut.send(failed).await;
    collector.until(|collector| !collector.spans().is_empty()).await;
    let page = settled(&sut).await;
    assert_eq!(fate(&page, "confirmed"), 1);
    assert_eq!(page.sum("weir_otlp_sampled_out_total", &[]), 1.0);
    assert_eq!(collector.traces().len(), 1);
    sut.shutdown().await;
}

#[tokio::test]
async fn requests_say_who_sends_them_and_are_packed() {
    for protocol in BOTH {
        let collector = Collector::start([Mood::Takes]).await;
        let mut destination = destination(&collector, protocol);
        let headers = &mut destination.traces.as_mut().unwrap().headers;
        headers.insert("authorization", "Bearer s3cret".parse().unwrap());
        let sut = Sut::start(config(vec![destination]));
        sut.send(traced(1)).await;
        collector.until(|collector| !collector.came().is_empty()).await;
        let came = collector.came().remove(0);
        assert_eq!(came.headers["authorization"], "Bearer s3cret");
        let agent = came.headers["user-agent"].to_str().unwrap();
        assert!(agent.starts_with("weir/"), "{agent}");
        match protocol {
            Protocol::HttpProtobuf => {
                assert_eq!(came.path, "/v1/traces");
                assert_eq!(came.headers["content-type"], "application/x-protobuf");
                assert_eq!(came.headers["content-encoding"], "gzip");
            }
            Protocol::Grpc => {
                assert_eq!(came.path, "/opentelemetry.proto.collector.trace.v1.TraceService/Export");
                assert_eq!(came.headers["grpc-encoding"], "gzip");
            }
        }
        sut.shutdown().await;
    }
}

#[tokio::test]
async fn metrics_come_at_intervals_and_once_more_at_the_end() {
    for protocol in BOTH {
        let collector = Collector::start([Mood::Takes]).await;
        let mut destination = destination(&collector, protocol);
        destination.traces = None;
        destination.metrics = Some(signal(&collector, protocol, "/v1/metrics"));
        destination.temporality = Temporality::Delta;
        let sut = Sut::start(config(vec![destination]));
        for id in 1..=3 {
            sut.send(stream(id, "m")).await;
        }
        collector.until(|collector| !collector.metrics().is_empty()).await;
        sut.send(stream(4, "m")).await;
        let page = sut.page().await;
        assert_eq!(page.sum("weir_requests_total", &[]), 4.0);
        sut.shutdown().await;
        let rounds = collector.metrics();
        assert!(rounds.len() >= 2, "{}", rounds.len());
        assert_eq!(rounds.iter().map(requests).sum::<u64>(), 4, "deltas add up to all");
    }
}

/// How many exchanges a request with metrics tells of.
fn requests(
    request: &opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest,
) -> u64 {
    use opentelemetry_proto::tonic::metrics::v1::{metric::Data, number_data_point::Value};

    let metrics =
        request.resource_metrics.iter().flat_map(|all| &all.scope_metrics).flat_map(|all| &all.metrics);
    let points =
        metrics.filter(|metric| metric.name == "weir.requests").flat_map(|metric| match &metric.data {
            Some(Data::Sum(sum)) => &sum.data_points[..],
            other => panic!("{other:?}"),
        });
    points
        .map(|point| match point.value {
            Some(Value::AsInt(n)) => u64::try_from(n).unwrap(),
            other => panic!("{other:?}"),
        })
        .sum()
}

#[tokio::test]
async fn metrics_that_were_not_taken_come_with_the_next() {
    let collector = Collector::start([Mood::Status(400, None), Mood::Takes]).await;
    let mut destination = destination(&collector, Protocol::HttpProtobuf);
    destination.traces = None;
    destination.metrics = Some(signal(&collector, Protocol::HttpProtobuf, "/v1/metrics"));
    destination.temporality = Temporality::Delta;
    let sut = Sut::start(config(vec![destination]));
    sut.send(stream(1, "m")).await;
    collector.until(|collector| !collector.metrics().is_empty()).await;
    let page = sut.page().await;
    assert!(page.sum("weir_otlp_metric_rounds_total", &[("fate", "failed")]) >= 1.0);
    sut.shutdown().await;
    assert_eq!(collector.metrics().iter().map(requests).sum::<u64>(), 1);
}

#[tokio::test]
async fn tls_needs_a_certificate_that_is_trusted_and_can_show_one() {
    use std::sync::Arc;

    use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
    use rustls::server::WebPkiClientVerifier;
    use rustls::{RootCertStore, ServerConfig};

    let folder = tempfile::tempdir().unwrap();
    let issue = |name: &str| rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    let (server, client) = (issue("127.0.0.1"), issue("weir"));
    let file = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let ca = file("ca", server.cert.pem());
    let certificate = file("certificate", client.cert.pem());
    let key = file("key", client.signing_key.serialize_pem());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(client.cert.der().clone()).unwrap();
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build().unwrap();
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(server.signing_key.serialize_der()));
    let mut config_tls = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![server.cert.der().clone()], private)
        .unwrap();
    config_tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config_tls));
    for protocol in BOTH {
        let collector =
            Collector::bind("127.0.0.1:0".parse().unwrap(), [Mood::Takes], Some(acceptor.clone())).await;
        let mut trusted = destination(&collector, protocol);
        let traces = trusted.traces.as_mut().unwrap();
        traces.url = traces.url.replace("http://", "https://");
        traces.timeout = Duration::from_secs(5);
        let mut stranger = trusted.clone();
        stranger.name = "stranger".into();
        trusted.traces.as_mut().unwrap().tls = Tls::load(Some(&ca), Some((&certificate, &key))).unwrap();
        stranger.traces.as_mut().unwrap().tls = Tls::load(Some(&ca), None).unwrap();
        let sut = Sut::start(config(vec![trusted, stranger]));
        sut.send(traced(1)).await;
        collector.until(|collector| collector.traces().len() == 1).await;
        let page = sut.page().await;
        let confirmed =
            |name| page.sum("weir_otlp_exchanges_total", &[("destination", name), ("fate", "confirmed")]);
        assert_eq!(confirmed("stranger"), 0.0, "{protocol:?}");
        assert_eq!(collector.came().len(), 1);
        sut.shutdown().await;
    }
    assert!(Tls::load(Some(&key), None).is_err());
    assert!(Tls::load(Some(folder.path()), None).is_err());
    assert!(Tls::load(None, Some((&certificate, &ca))).is_err());
}
