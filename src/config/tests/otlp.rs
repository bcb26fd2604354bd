//! Which of the file and OpenTelemetry's variables is in effect.

use std::ffi::OsString;
use std::time::Duration;

use weir_proxy::TraceRule;
use weir_telemetry::otlp::config::{
    Batch, GenAiNames, HistogramKind, OtlpConfig, Protocol, Sampling, Temporality,
};

use super::{HEAD, load_text};
use crate::config::{Loaded, Overrides};

/// Reads a file under variables.
fn read(text: &str, variables: &[(&str, &str)]) -> Loaded {
    let variables: Vec<(String, String)> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let env = move |name: &str| {
        variables.iter().find(|(known, _)| known == name).map(|(_, value)| OsString::from(value))
    };
    load_text(Some(("weir.toml", &format!("{HEAD}{text}"))), &Overrides::default(), &env).unwrap()
}

fn otlp(loaded: &Loaded) -> &OtlpConfig {
    loaded.settings.telemetry.otlp.as_ref().unwrap()
}

#[test]
fn without_an_endpoint_there_is_no_export_and_headers_are_left_alone() {
    for (text, variables) in [
        ("", &[][..]),
        ("[otlp]\nservice_name = \"x\"\n", &[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]),
        ("", &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318"), ("OTEL_SDK_DISABLED", "TRUE")]),
        ("[otlp]\ntraces = false\nmetrics = false\nendpoint = \"http://c\"\n", &[]),
    ] {
        let settings = read(text, variables).settings;
        assert!(settings.telemetry.otlp.is_none(), "{text}");
        assert_eq!(settings.proxy.context.trace, TraceRule::Ignore);
    }
    let metrics_alone = read("[otlp]\ntraces = false\nendpoint = \"http://c\"\n", &[]).settings;
    assert!(metrics_alone.telemetry.otlp.is_some());
    assert_eq!(metrics_alone.proxy.context.trace, TraceRule::Ignore);
}

#[test]
fn variables_alone_set_up_an_export() {
    let loaded = read(
        "",
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://t/v9"),
            ("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "GRPC"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20s3cret"),
            ("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "x-own=1"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "3000"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "none"),
            ("OTEL_SERVICE_NAME", "gateway"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,deployment.environment.name=prod"),
            ("OTEL_BSP_MAX_QUEUE_SIZE", "99"),
            ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "9"),
            ("OTEL_BSP_SCHEDULE_DELAY", "250"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "15000"),
            ("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "LowMemory"),
            ("OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION", "explicit_bucket_histogram"),
        ],
    );
    let config = otlp(&loaded);
    let [destination] = &config.destinations[..] else { panic!("{config:?}") };
    let (traces, metrics) = (destination.traces.as_ref().unwrap(), destination.metrics.as_ref().unwrap());
    assert_eq!((traces.url.as_str(), traces.protocol), ("https://t/v9", Protocol::HttpProtobuf));
    assert_eq!((metrics.url.as_str(), metrics.protocol), ("http://c:4318/", Protocol::Grpc));
    assert_eq!(traces.headers["authorization"], "Bearer s3cret");
    assert_eq!((metrics.headers.len(), &metrics.headers["x-own"]), (1, &"1".parse().unwrap()));
    assert_eq!((traces.timeout, traces.gzip), (Duration::from_secs(3), false));
    let expected = Batch { queue: 99, size: 9, delay: Duration::from_millis(250) };
    assert_eq!(destination.batch, expected);
    assert_eq!(config.metric_interval, Duration::from_secs(15));
    assert_eq!(destination.temporality, Temporality::LowMemory);
    assert_eq!(destination.histograms, HistogramKind::Explicit);
    let attribute = |name: &str| config.resource.iter().find(|(known, _)| known == name).unwrap().1.as_str();
    assert_eq!(attribute("service.name"), "gateway");
    assert_eq!(attribute("deployment.environment.name"), "prod");
    assert_eq!(loaded.settings.proxy.context.trace, TraceRule::Continue);
    let shown = loaded.effective.to_string();
    assert!(shown.contains("# endpoint of traces = \"https://t/v9\""), "{shown}");
    assert!(shown.contains("# resource of the environment = \"service.name=other,"), "{shown}");
    assert!(!shown.contains("s3cret") && !format!("{:?}", loaded.settings).contains("s3cret"), "{shown}");
}

#[test]
fn the_file_goes_before_the_variables_and_says_so() {
    let text = "[otlp]\nendpoint = \"http://file:1/base\"\ntimeout = \"2s\"\ntrace_context = \"untouched\"\n\
                genai_names = \"both\"\nsample_ratio = 0.25\nkeep_slow = \"3s\"\nuser_header = \"X-User\"\n\
                resource = \"a=file\"\n";
    let loaded = read(
        text,
        &[
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://variable:1"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "nonsense"),
            ("OTEL_RESOURCE_ATTRIBUTES", "a=variable,b=variable"),
        ],
    );
    let config = otlp(&loaded);
    let traces = config.destinations[0].traces.as_ref().unwrap();
    assert_eq!(
        (traces.url.as_str(), traces.timeout),
        ("http://file:1/base/v1/traces", Duration::from_secs(2))
    );
    assert!(traces.gzip);
    let expected = Sampling { ratio: 0.25, errors: true, slow: Some(Duration::from_secs(3)), stalls: true };
    assert_eq!(config.sampling, expected);
    assert_eq!(config.spans.names, GenAiNames::Both);
    assert_eq!(loaded.settings.proxy.context.trace, TraceRule::Join);
    assert_eq!(loaded.settings.proxy.context.user_header.as_ref().unwrap(), "x-user");
    let resource: Vec<_> =
        config.resource.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(resource, [("a", "file"), ("b", "variable"), ("service.name", "weir")]);
    let shown = loaded.effective.to_string();
    assert!(shown.contains("weir.toml:4, above OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), "{shown}");
}

#[test]
fn each_destination_has_its_own_and_nothing_of_the_variables() {
    let text = "[otlp.destinations.langfuse]\nendpoint = \"https://l/api/public/otel/\"\nmetrics = false\n\
                as_root = true\n[otlp.destinations.collector]\nendpoint = \"http://c:4317\"\nprotocol = \"grpc\"\n";
    let variables = [
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=s3cret"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "1"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://own:4318/v1/traces"),
    ];
    let loaded = read(text, &variables);
    let names: Vec<_> = otlp(&loaded).destinations.iter().map(|destination| &*destination.name).collect();
    assert_eq!(names, ["otlp", "collector", "langfuse"]);
    let [own, collector, langfuse] = &otlp(&loaded).destinations[..] else { panic!() };
    assert!(own.metrics.is_none() && own.traces.as_ref().unwrap().headers.contains_key("authorization"));
    let traces = langfuse.traces.as_ref().unwrap();
    assert_eq!(traces.url, "https://l/api/public/otel/v1/traces");
    assert!(traces.headers.is_empty() && langfuse.metrics.is_none() && langfuse.as_root);
    assert_eq!(traces.timeout, Duration::from_secs(10));
    assert_eq!(collector.metrics.as_ref().unwrap().url, "http://c:4317");
}

#[test]
fn a_variable_that_says_nonsense_is_a_mistake() {
    let env = |name: &str| (name == "OTEL_EXPORTER_OTLP_PROTOCOL").then(|| OsString::from("http/json"));
    let mistakes = load_text(Some(("weir.toml", HEAD)), &Overrides::default(), &env).unwrap_err();
    assert_eq!(
        mistakes.to_string(),
        "OTEL_EXPORTER_OTLP_PROTOCOL: otlp.protocol: not one of the choices; allowed: \"http/protobuf\" or \"grpc\""
    );
}

#[test]
fn content_is_kept_where_it_is_asked_for_and_traces_go_somewhere() {
    let capture = |text: &str| {
        let limit = read(text, &[]).settings.proxy.context.capture;
        limit.map(|limit| limit.0)
    };
    let endpoint = "endpoint = \"http://c:1\"\n";
    assert_eq!(capture(&format!("[otlp]\n{endpoint}")), None);
    assert_eq!(capture(&format!("[otlp]\n{endpoint}capture_limit = \"1KiB\"\n")), None);
    assert_eq!(capture(&format!("[otlp]\n{endpoint}capture_content = true\n")), Some(16 * 1024));
    let limited = "capture_content = true\ncapture_limit = \"1KiB\"\n";
    assert_eq!(capture(&format!("[otlp]\n{endpoint}{limited}")), Some(1024));
    assert_eq!(capture(&format!("[otlp]\n{limited}")), None);
    assert_eq!(capture(&format!("[otlp]\ntraces = false\n{endpoint}{limited}")), None);
}

#[test]
fn patterns_are_read_and_a_wrong_one_says_where_and_why() {
    let text = "[otlp]\nendpoint = \"http://c:1\"\nredact = ['sk-\\w+$$', \"(?i)secret\"]\n";
    let loaded = read(text, &[]);
    let patterns: Vec<_> = otlp(&loaded).spans.redact.iter().map(regex::Regex::as_str).collect();
    assert_eq!(patterns, [r"sk-\w+$", "(?i)secret"]);
    let shown = loaded.effective.to_string();
    assert!(shown.contains(r#"redact = ["sk-\\w+$$", "(?i)secret"]"#), "{shown}");
    let refused = |value: &str| {
        let text = format!("{HEAD}[otlp]\nredact = {value}\n");
        let mistakes = load_text(Some(("weir.toml", &text)), &Overrides::default(), &|_| None).unwrap_err();
        let mistakes = mistakes.to_string();
        assert!(mistakes.starts_with("weir.toml:4: otlp.redact: "), "{mistakes}");
        mistakes.trim_start_matches("weir.toml:4: otlp.redact: ").to_owned()
    };
    let wrong = refused("[\"ok\", \"(\"]");
    let expected = "not a regular expression (unclosed group); allowed: a list of regular expressions";
    assert_eq!(wrong, expected);
    assert_eq!(refused("\"a\""), "wrong type: string; allowed: a list of regular expressions");
    assert!(refused("[1]").starts_with("wrong type: array"));
    assert!(refused("['a$']").starts_with("a lone `$`"));
}

#[test]
fn the_rule_for_tokens_is_weirs_unless_told() {
    use weir_core::reader::TokenRule;
    assert_eq!(read("", &[]).settings.proxy.watch.token_rule, TokenRule::Weir);
    let read = read("[stream]\ntoken_rule = \"vllm\"\n", &[]);
    assert_eq!(read.settings.proxy.watch.token_rule, TokenRule::Vllm);
}
