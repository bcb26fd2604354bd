//! The file as it may be: its sections and keys, what each allows, and what it is unless given.

use std::net::SocketAddr;
use std::time::Duration;

use tracing::Level;
use weir_analysis::observatory::ObservatoryConfig;
use weir_core::draft::Watch;
use weir_core::lanes::GLOBAL;
use weir_core::policy::{LaneLimits, Policy};
use weir_core::prompt_hash::PromptKey;
use weir_core::reader::TokenRule;
use weir_dash::{AdminConfig, Token};
use weir_proxy::{
    Config, ContextRules, DEFAULT_DRAIN_TIMEOUT, FullStatus, HeaderRules, ListenConfig, Timeouts,
    UpstreamConfig, UpstreamHttp,
};
use weir_telemetry::{Destination, Scheme, TelemetryConfig, UpstreamFacts};

use super::alerts::alerts;
use super::analysis::{analysis, error_classes, slos, state_dir};
use super::cost::cost;
use super::error::Place;
use super::kinds::{Address, Choice, Count, FilePath, Name, Secret, Size, Span, Switch, Target, Url};
use super::otlp::otlp;
use super::section::{Key, Section};
use super::security::{api_key, client_tls, server_tls};
use super::{LogConfig, LogFormat, Overrides, Settings};

const MANY: usize = 1_000_000;
const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
const MILLI: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

const MAX_CONCURRENT: Count = Count { min: 1, max: MANY };
const STREAMS: Count = Count { min: 1, max: 100_000 };
const MAX_QUEUED: Count = Count { min: 0, max: MANY };
const QUEUE_TIMEOUT: Span = Span { min: MILLI, max: DAY };
const FULL_STATUS: &[(&str, FullStatus)] =
    &[("429", FullStatus::TooManyRequests), ("503", FullStatus::ServiceUnavailable)];
const HTTP: &[(&str, UpstreamHttp)] = &[
    ("\"auto\"", UpstreamHttp::Auto),
    ("\"http1\"", UpstreamHttp::Http1),
    ("\"http2\"", UpstreamHttp::Http2),
];
/// Whether every gap is kept.
const GAPS: &[(&str, bool)] = &[("\"distribution\"", false), ("\"all\"", true)];
const TOKEN_RULE: &[(&str, TokenRule)] = &[("\"weir\"", TokenRule::Weir), ("\"vllm\"", TokenRule::Vllm)];
const LEVELS: &[(&str, Level)] = &[
    ("\"error\"", Level::ERROR),
    ("\"warn\"", Level::WARN),
    ("\"info\"", Level::INFO),
    ("\"debug\"", Level::DEBUG),
    ("\"trace\"", Level::TRACE),
];
const FORMATS: &[(&str, LogFormat)] = &[("\"text\"", LogFormat::Text), ("\"json\"", LogFormat::Json)];

/// Reads every key there is. `None` only with a mistake noted.
pub(super) fn settings(root: &mut Section<'_, '_>, overrides: &Overrides) -> Option<Settings> {
    let (listen, place, request_buffer) = root.section("listen", |section| listen(section, overrides));
    let admin = root.section("admin", |section| admin(section, overrides, listen.address, &place));
    let upstream = root.section("upstream", |section| upstream(section, overrides));
    let (timeouts, drain_timeout) = root.section("timeouts", timeouts);
    let (policy, full_status) = root.section("admission", admission);
    let headers = root.section("headers", headers);
    let watch = root.section("stream", stream);
    let (records, records_queue, prompt_key) = root.section("records", |section| records(section, overrides));
    let (otlp, context) = root.section("otlp", otlp);
    let context = ContextRules { prompt_key, ..context };
    let log = root.section("log", |section| log(section, overrides));
    let (observatory, state_dir) =
        root.section("analysis", |section| (analysis(section), state_dir(section)));
    let slos = slos(root);
    let allowed_errors = root.section("error_classes", error_classes);
    let (rules, external_url) = root.section("alerts", |section| alerts(section, &slos));
    let prices = root.section("cost", cost);
    let observatory = ObservatoryConfig {
        slos,
        allowed_errors,
        rules,
        prices: prices.book,
        gpu: prices.gpu,
        max_models: records.max_models,
        known_models: policy.models.keys().cloned().collect(),
        ..observatory
    };
    let telemetry = TelemetryConfig {
        known_models: policy.models.keys().map(|name| name.clone().into()).collect(),
        stall_after: watch.stall_after.as_duration(),
        // As many as if each connection carried one exchange; those beyond run unlisted, and counted.
        max_pulsing: listen.max_connections,
        otlp,
        observatory,
        state_dir,
        upstreams: upstream.iter().map(|(_, facts)| facts.clone()).collect(),
        scheme: if listen.tls.is_some() { Scheme::Https } else { Scheme::Http },
        ..records
    };
    let (upstream, _) = upstream?;
    let proxy = Config { listen, upstream, timeouts, full_status, headers, context, watch, request_buffer };
    Some(Settings { proxy, policy, telemetry, admin, drain_timeout, records_queue, log, external_url })
}

fn listen(section: &mut Section<'_, '_>, overrides: &Overrides) -> (ListenConfig, Place, usize) {
    let default = ListenConfig::default();
    let key = Key::or_flag("address", "--listen", overrides.listen.as_deref());
    let address = section.setting(key, Address, default.address);
    let connections = Count { min: 1, max: MANY };
    let wait = Span { min: MILLI, max: HOUR };
    let max_connections = section.value("max_connections", connections, default.max_connections);
    let head_timeout = section.value("head_timeout", wait, default.head_timeout);
    let body_timeout = section.value("body_timeout", wait, default.body_timeout);
    let send_timeout = section.value("send_timeout", wait, default.send_timeout);
    let max_streams = section.value("max_streams", STREAMS, default.max_streams as usize);
    let request_buffer = section.value("request_buffer", Size { min: KIB, max: 64 * MIB }, MIB);
    let listen = ListenConfig {
        address: address.value,
        max_connections,
        head_timeout,
        body_timeout,
        send_timeout,
        max_streams: u32::try_from(max_streams).unwrap_or(default.max_streams),
        // A section inside of this one comes behind its keys.
        tls: section.section("tls", server_tls),
    };
    (listen, address.place, request_buffer)
}

fn admin(
    section: &mut Section<'_, '_>,
    overrides: &Overrides,
    listen: SocketAddr,
    listen_place: &Place,
) -> AdminConfig {
    let key = Key::or_flag("address", "--admin", overrides.admin.as_deref());
    let address = section.setting(key, Address, weir_dash::DEFAULT_LISTEN);
    if address.value == listen && listen.port() != 0 {
        let place = if address.place == Place::Nowhere { listen_place } else { &address.place };
        section.refuse("address", place, "taken by listen.address; allowed: an address of its own");
    }
    let token = section.optional("token", Secret, "the API is for this machine alone");
    let token = token.and_then(|given| {
        let token = Token::new(&given.value);
        if token.is_none() {
            section.refuse(
                "token",
                &given.place,
                "not a token; allowed: 1 to 512 visible characters of ASCII",
            );
        }
        token
    });
    AdminConfig { listen: address.value, token }
}

fn upstream(section: &mut Section<'_, '_>, overrides: &Overrides) -> Option<(UpstreamConfig, UpstreamFacts)> {
    let name = section.value("name", Name, "default".into());
    let url = section.required("url", "--upstream", overrides.upstream.as_deref(), Url);
    let http = section.value("http", Choice(HTTP), UpstreamHttp::Auto);
    let provider = section.optional("provider", Name, "told by the dialect").map(|provider| provider.value);
    let api_key = api_key(section);
    let max_idle = section.value("max_idle", Count { min: 0, max: MANY }, 256);
    // Engines commonly close what was unused for 5 s.
    let idle_timeout = section.value("idle_timeout", Span { min: MILLI, max: HOUR }, Duration::from_secs(4));
    let tls = section.section("tls", |section| client_tls(section, url.as_ref()));
    let url = url?;
    let facts = UpstreamFacts { name: name.clone(), provider, address: url.host().into(), port: url.port() };
    Some((UpstreamConfig { name, url, http, tls, api_key, max_idle, idle_timeout }, facts))
}

fn timeouts(section: &mut Section<'_, '_>) -> (Timeouts, Duration) {
    let default = Timeouts::default();
    let timeouts = Timeouts {
        connect: section.value("connect", Span { min: MILLI, max: HOUR }, default.connect),
        response_head: section.value("response_head", Span { min: MILLI, max: DAY }, default.response_head),
        idle: section.value("idle", Span { min: MILLI, max: DAY }, default.idle),
    };
    let drain = Span { min: Duration::ZERO, max: DAY };
    (timeouts, section.value("drain_timeout", drain, DEFAULT_DRAIN_TIMEOUT))
}

fn admission(section: &mut Section<'_, '_>) -> (Policy, FullStatus) {
    let max_concurrent = section.optional("max_concurrent", MAX_CONCURRENT, "no limit");
    let max_queued = section.setting("max_queued", MAX_QUEUED, 1_024);
    let queue_timeout = section.setting("queue_timeout", QUEUE_TIMEOUT, Duration::from_secs(30));
    let full_status = section.value("full_status", Choice(FULL_STATUS), FullStatus::TooManyRequests);
    let models = section.sections("models", GLOBAL, |model| LaneLimits {
        max_concurrent: model
            .optional("max_concurrent", MAX_CONCURRENT, "no limit of its own")
            .map(|setting| setting.value),
        max_queued: model.inherited("max_queued", MAX_QUEUED, &max_queued, "admission"),
        queue_timeout: model.inherited("queue_timeout", QUEUE_TIMEOUT, &queue_timeout, "admission"),
    });
    let global = LaneLimits {
        max_concurrent: max_concurrent.map(|setting| setting.value),
        max_queued: max_queued.value,
        queue_timeout: queue_timeout.value,
    };
    (Policy { global, models: models.into_iter().collect(), fallbacks: Vec::new() }, full_status)
}

fn headers(section: &mut Section<'_, '_>) -> HeaderRules {
    let default = HeaderRules::default();
    HeaderRules {
        keep_host: section.value("keep_host", Switch, default.keep_host),
        via: section.value("via", Switch, default.via),
        forwarded: section.value("forwarded", Switch, default.forwarded),
    }
}

fn stream(section: &mut Section<'_, '_>) -> Watch {
    let default = TelemetryConfig::default();
    let stall_after = Span { min: MILLI, max: HOUR };
    Watch {
        stall_after: section.value("stall_after", stall_after, default.stall_after).into(),
        keep_all_gaps: section.value("gaps", Choice(GAPS), false),
        token_rule: section.value("token_rule", Choice(TOKEN_RULE), TokenRule::default()),
    }
}

fn records(
    section: &mut Section<'_, '_>,
    overrides: &Overrides,
) -> (TelemetryConfig, usize, Option<PromptKey>) {
    let key = Key::or_flag("access_log", "--access-log", overrides.access_log.as_deref());
    let access_log = section.optional(key, Target, "off").map(|setting| setting.value);
    let key = Key::or_flag("record", "--record", overrides.record.as_deref());
    let record = section.optional(key, FilePath, "off");
    if let (Some(Destination::File(log)), Some(record)) = (&access_log, &record)
        && *log == record.value
    {
        section.refuse("record", &record.place, "taken by records.access_log; allowed: another file");
    }
    let queue = section.value("queue", Count { min: 1, max: MANY }, 8_192);
    let default = TelemetryConfig::default();
    let max_models = section.value("max_models", Count { min: 1, max: 10_000 }, default.max_models);
    let prompt_key = section.optional("prompt_hash_key", Secret, "prompts are not hashed");
    let prompt_key = prompt_key.map(|key| PromptKey::new(&key.value));
    let record = record.map(|setting| setting.value);
    (TelemetryConfig { access_log, record, max_models, ..default }, queue, prompt_key)
}

fn log(section: &mut Section<'_, '_>, overrides: &Overrides) -> LogConfig {
    let key = Key::or_flag("level", "--log-level", overrides.log_level.as_deref());
    LogConfig {
        level: section.value(key, Choice(LEVELS), Level::INFO),
        format: section.value("format", Choice(FORMATS), LogFormat::Text),
    }
}
