//! What the file and OpenTelemetry's variables say of the export of traces and metrics.

use std::time::Duration;

use http::HeaderMap;
use regex::Regex;
use weir_core::content::CaptureLimit;
use weir_proxy::{ContextRules, TraceRule};
use weir_telemetry::otlp::Tls;
use weir_telemetry::otlp::config::{
    Batch, GenAiNames, HistogramKind, OtlpConfig, OtlpDestination, Protocol, Sampling, Signal, SpanRules,
    Temporality,
};

use super::endpoint::Endpoint;
use super::error::Place;
use super::kinds::{Choice, Count, FilePath, Header, Kind, Name, Size, Span, Switch};
use super::layered::Variables;
use super::lists::{Headers, Pairs, Patterns, Ratio};
use super::section::{Section, Setting};
use super::security::identity;

/// The name of the destination that `[otlp]` itself gives.
const OWN: &str = "otlp";

const PROTOCOL: Choice<Protocol> =
    Choice(&[("\"http/protobuf\"", Protocol::HttpProtobuf), ("\"grpc\"", Protocol::Grpc)]);
const COMPRESSION: Choice<bool> = Choice(&[("\"gzip\"", true), ("\"none\"", false)]);
const TEMPORALITY: Choice<Temporality> = Choice(&[
    ("\"cumulative\"", Temporality::Cumulative),
    ("\"delta\"", Temporality::Delta),
    ("\"low_memory\"", Temporality::LowMemory),
]);
const HISTOGRAMS: Choice<HistogramKind> =
    Choice(&[("\"exponential\"", HistogramKind::Exponential), ("\"explicit\"", HistogramKind::Explicit)]);
const GENAI_NAMES: &[(&str, GenAiNames)] =
    &[("\"1.41\"", GenAiNames::V1_41), ("\"next\"", GenAiNames::Next), ("\"both\"", GenAiNames::Both)];
const TRACE_CONTEXT: &[(&str, TraceRule)] =
    &[("\"continue\"", TraceRule::Continue), ("\"untouched\"", TraceRule::Join)];

const MANY: usize = 1_000_000;
const SECOND: Duration = Duration::from_secs(1);
const TIMEOUT: Span = Span { min: Duration::from_millis(1), max: Duration::from_secs(600) };
const DELAY: Span = Span { min: Duration::from_millis(1), max: Duration::from_secs(600) };
const INTERVAL: Span = Span { min: SECOND, max: Duration::from_secs(3_600) };
const SLOW: Span = Span { min: Duration::from_millis(1), max: Duration::from_secs(86_400) };
const CONTENT: Size = Size { min: 256, max: 1 << 20 };
const COUNT: Count = Count { min: 1, max: MANY };

/// The variables below a key of `[otlp]`.
macro_rules! variables {
    ($name:literal, $translate:expr) => {
        variables!($name, $translate, false)
    };
    ($name:literal, $translate:expr, $secret:literal) => {
        Variables {
            all: concat!("OTEL_EXPORTER_OTLP_", $name),
            traces: concat!("OTEL_EXPORTER_OTLP_TRACES_", $name),
            metrics: concat!("OTEL_EXPORTER_OTLP_METRICS_", $name),
            translate: $translate,
            secret: $secret,
        }
    };
}

/// What the export and the data path are told. Without a destination there is no export, and traces are
/// none of Weir's business.
pub(super) fn otlp(section: &mut Section<'_, '_>) -> (Option<OtlpConfig>, ContextRules) {
    let resource = resource(section);
    let trace = section.value("trace_context", Choice(TRACE_CONTEXT), TraceRule::Continue);
    let context = ContextRules {
        trace,
        session_header: header(section, "session_header"),
        user_header: header(section, "user_header"),
        capture: None,
        prompt_key: None,
    };
    let names = section.value("genai_names", Choice(GENAI_NAMES), GenAiNames::default());
    let (capture, redact) = content(section);
    let sampling = sampling(section);
    let variable = "OTEL_METRIC_EXPORT_INTERVAL";
    let default = Duration::from_secs(60);
    let metric_interval = single(section, "metric_interval", &INTERVAL, variable, millis, default);
    let own = own(section);
    let others = section.sections("destinations", OWN, named);
    let mut destinations: Vec<_> = own.into_iter().collect();
    destinations.extend(
        others.into_iter().filter_map(|(name, destination)| Some(OtlpDestination { name, ..destination? })),
    );
    let traced = destinations.iter().any(|destination| destination.traces.is_some());
    let context = if traced { ContextRules { capture, ..context } } else { ContextRules::default() };
    let spans = SpanRules { names, redact };
    let config = OtlpConfig { destinations, resource, sampling, spans, metric_interval };
    ((!config.destinations.is_empty()).then_some(config), context)
}

/// How much of what both sides say is exported, if any of it, and what is taken out of that.
fn content(section: &mut Section<'_, '_>) -> (Option<CaptureLimit>, Vec<Regex>) {
    let wanted = section.value("capture_content", Switch, false);
    let limit = section.value("capture_limit", CONTENT, 16 << 10);
    let redact = section.value("redact", Patterns, Vec::new());
    (wanted.then_some(CaptureLimit(limit)), redact)
}

fn header(section: &mut Section<'_, '_>, key: &'static str) -> Option<http::HeaderName> {
    let name = section.optional(key, Header, "none")?;
    name.value.parse().ok()
}

fn sampling(section: &mut Section<'_, '_>) -> Sampling {
    let default = Sampling::default();
    Sampling {
        ratio: section.value("sample_ratio", Ratio, default.ratio),
        errors: section.value("keep_errors", Switch, default.errors),
        slow: section.optional("keep_slow", SLOW, "none is slow").map(|slow| slow.value),
        stalls: section.value("keep_stalled", Switch, default.stalls),
    }
}

/// Attributes of the process: those of the file go before those of the environment.
fn resource(section: &mut Section<'_, '_>) -> Vec<(String, String)> {
    let of_variable = section.environment("OTEL_RESOURCE_ATTRIBUTES");
    let of_variable = of_variable.and_then(|text| {
        let place = Place::Variable("OTEL_RESOURCE_ATTRIBUTES");
        let setting = section.read_text("resource", &Pairs, &text, place)?;
        section.show_as("# resource of the environment", &setting);
        Some(setting)
    });
    let mut resource = of_variable.map(|pairs| pairs.value).unwrap_or_default();
    let of_file = section.optional("resource", Pairs, "nothing more").map(|pairs| pairs.value);
    for (name, value) in of_file.into_iter().flatten() {
        set(&mut resource, &name, value);
    }
    let told = resource.iter().find(|(name, _)| name == "service.name").map(|(_, value)| value.as_str());
    let default = told.unwrap_or("weir").into();
    let name = single(section, "service_name", &Name, "OTEL_SERVICE_NAME", str::to_owned, default);
    set(&mut resource, "service.name", name.into());
    resource
}

fn set(resource: &mut Vec<(String, String)>, name: &str, value: String) {
    match resource.iter_mut().find(|(known, _)| known == name) {
        Some((_, known)) => *known = value,
        None => resource.push((name.to_owned(), value)),
    }
}

/// How one of traces and metrics is to get to a place, as far as it is said.
#[derive(Default)]
struct Wish {
    endpoint: Option<Setting<String>>,
    protocol: Option<Protocol>,
    headers: Option<HeaderMap>,
    timeout: Option<Duration>,
    gzip: Option<bool>,
}

impl Wish {
    /// A signal, if there is an endpoint. With HTTP that is a base, but for a variable of this signal.
    fn signal(self, path: &str, verbatim: &'static str, tls: Tls) -> Option<Signal> {
        let Setting { value: mut url, place, .. } = self.endpoint?;
        let protocol = self.protocol.unwrap_or(Protocol::HttpProtobuf);
        if protocol == Protocol::HttpProtobuf && place != Place::Variable(verbatim) {
            url = format!("{}{path}", url.trim_end_matches('/'));
        }
        Some(Signal {
            url,
            protocol,
            headers: self.headers.unwrap_or_default(),
            timeout: self.timeout.unwrap_or(Duration::from_secs(10)),
            gzip: self.gzip.unwrap_or(true),
            tls,
        })
    }
}

/// The destination that `[otlp]` itself gives, with OpenTelemetry's variables below its keys.
fn own(section: &mut Section<'_, '_>) -> Option<OtlpDestination> {
    let off = section.environment("OTEL_SDK_DISABLED").is_some_and(|it| it.eq_ignore_ascii_case("true"));
    let (mut traces, mut metrics) = (Wish::default(), Wish::default());
    let endpoints = variables!("ENDPOINT", str::to_owned);
    let found = section.layered("endpoint", &Endpoint, &endpoints, "off");
    (traces.endpoint, metrics.endpoint) = (found.traces, found.metrics);
    let found = section.layered("protocol", &PROTOCOL, &variables!("PROTOCOL", lower), "\"http/protobuf\"");
    (traces.protocol, metrics.protocol) = found.values();
    let found = section.layered("headers", &Headers, &variables!("HEADERS", str::to_owned, true), "none");
    (traces.headers, metrics.headers) = found.values();
    let found = section.layered("timeout", &TIMEOUT, &variables!("TIMEOUT", millis), "\"10s\"");
    (traces.timeout, metrics.timeout) = found.values();
    let found = section.layered("compression", &COMPRESSION, &variables!("COMPRESSION", lower), "\"gzip\"");
    (traces.gzip, metrics.gzip) = found.values();
    let batch = own_batch(section);
    let shape = shape(section);
    let (with_traces, with_metrics) = signals(section);
    let as_root = section.value("as_root", Switch, false);
    let tls = section.section("tls", tls);
    let traces = traces.signal("/v1/traces", endpoints.traces, tls.clone()).filter(|_| with_traces && !off);
    let metrics = metrics.signal("/v1/metrics", endpoints.metrics, tls).filter(|_| with_metrics && !off);
    let (temporality, histograms) = shape;
    let somewhere = traces.is_some() || metrics.is_some();
    somewhere.then(|| OtlpDestination {
        name: OWN.into(),
        traces,
        metrics,
        batch,
        temporality,
        histograms,
        as_root,
    })
}

/// A destination with a name. Variables do not reach it: their headers may hold another one's secrets.
fn named(section: &mut Section<'_, '_>) -> Option<OtlpDestination> {
    let endpoint = section.optional("endpoint", Endpoint, "has to be given");
    if endpoint.is_none() && !section.has("endpoint") {
        let place = section.place();
        section.refuse("endpoint", &place, format!("missing; allowed: {}", Endpoint.allowed()));
    }
    let protocol = section.value("protocol", PROTOCOL, Protocol::HttpProtobuf);
    let headers = section.optional("headers", Headers, "none").map(|headers| headers.value);
    let timeout = section.value("timeout", TIMEOUT, Duration::from_secs(10));
    let gzip = section.value("compression", COMPRESSION, true);
    let default = Batch::default();
    let batch = Batch {
        queue: section.value("queue", COUNT, default.queue),
        size: section.value("batch", COUNT, default.size),
        delay: section.value("batch_delay", DELAY, default.delay),
    };
    let temporality = section.value("temporality", TEMPORALITY, Temporality::default());
    let histograms = section.value("histograms", HISTOGRAMS, HistogramKind::default());
    let (with_traces, with_metrics) = signals(section);
    let as_root = section.value("as_root", Switch, false);
    let tls = section.section("tls", tls);
    let endpoint = endpoint?;
    let signal = |path| {
        let wish = Wish {
            endpoint: Some(endpoint.clone()),
            protocol: Some(protocol),
            headers: headers.clone(),
            timeout: Some(timeout),
            gzip: Some(gzip),
        };
        wish.signal(path, "", tls.clone())
    };
    let traces = signal("/v1/traces").filter(|_| with_traces);
    let metrics = signal("/v1/metrics").filter(|_| with_metrics);
    let name = Box::default();
    Some(OtlpDestination { name, traces, metrics, batch, temporality, histograms, as_root })
}

fn signals(section: &mut Section<'_, '_>) -> (bool, bool) {
    (section.value("traces", Switch, true), section.value("metrics", Switch, true))
}

fn own_batch(section: &mut Section<'_, '_>) -> Batch {
    let default = Batch::default();
    let queue = single(section, "queue", &COUNT, "OTEL_BSP_MAX_QUEUE_SIZE", str::to_owned, default.queue);
    let size =
        single(section, "batch", &COUNT, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", str::to_owned, default.size);
    let delay = single(section, "batch_delay", &DELAY, "OTEL_BSP_SCHEDULE_DELAY", millis, default.delay);
    Batch { queue, size, delay }
}

/// How the metrics of `[otlp]` itself look.
fn shape(section: &mut Section<'_, '_>) -> (Temporality, HistogramKind) {
    let variable = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE";
    let in_ours = |text: &str| lower(text).replace("lowmemory", "low_memory");
    let temporality = single(section, "temporality", &TEMPORALITY, variable, in_ours, Temporality::default());
    let variable = "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION";
    let in_ours = |text: &str| match &*lower(text) {
        "base2_exponential_bucket_histogram" => "exponential".to_owned(),
        "explicit_bucket_histogram" => "explicit".to_owned(),
        other => other.to_owned(),
    };
    let histograms = single(section, "histograms", &HISTOGRAMS, variable, in_ours, HistogramKind::default());
    (temporality, histograms)
}

/// Whom to trust as a destination, and which certificate to show to it.
fn tls(section: &mut Section<'_, '_>) -> Tls {
    let ca = section.optional("ca", FilePath, "the system's roots");
    let Ok(identity) = identity(section, "none is shown") else { return Tls::default() };
    let files = identity.as_ref().map(|(certificate, key)| (&*certificate.value, &*key.value));
    let loaded = Tls::load(ca.as_ref().map(|ca| &*ca.value), files);
    let certificate = identity.as_ref().map(|(certificate, _)| certificate);
    let place = ca.as_ref().or(certificate).map_or(Place::Nowhere, |setting| setting.place.clone());
    let key = if ca.is_some() { "ca" } else { "certificate" };
    loaded.map_err(|error| section.refuse(key, &place, error.to_string())).unwrap_or_default()
}

/// A key with one variable below it.
fn single<K: Kind>(
    section: &mut Section<'_, '_>,
    key: &'static str,
    kind: &K,
    variable: &'static str,
    translate: impl Fn(&str) -> String,
    default: K::Value,
) -> K::Value {
    let of_variable = section.environment(variable).map(|text| translate(&text));
    section.above_variable(key, kind, variable, of_variable, default)
}

fn lower(text: &str) -> String {
    text.trim().to_ascii_lowercase()
}

/// OpenTelemetry's variables give durations in milliseconds.
fn millis(text: &str) -> String {
    format!("{}ms", text.trim())
}
