//! What targets of notifications are sent, over real sockets, and what becomes of it when they do not take it.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::Instant;
use weir_core::exchange::WallTime;
use weir_core::timeline::Stamp;
use weir_telemetry::TelemetryConfig;
use weir_telemetry::notify::{Format, Lost, Notification, Notifier, NotifyOptions, Secret, Status, Target};

use crate::sut::Sut;

const LIMIT: Duration = Duration::from_secs(20);

/// What a receiver answers.
#[derive(Clone, Copy, Debug)]
enum Mood {
    Takes,
    Status(u16, Option<&'static str>),
    Hangs,
}

#[derive(Clone, Debug)]
struct Came {
    path: String,
    headers: HeaderMap,
    body: Bytes,
}

impl Came {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

#[derive(Debug)]
struct Receiver {
    url: String,
    came: Arc<Mutex<Vec<Came>>>,
    _server: JoinSet<()>,
}

impl Receiver {
    /// One that is in these moods, one request after the other; in the last of them for ever.
    async fn start(moods: impl Into<Vec<Mood>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (came, moods) = (Arc::<Mutex<Vec<Came>>>::default(), Arc::new(Mutex::new(moods.into())));
        let mut server = JoinSet::new();
        let shared = Arc::clone(&came);
        server.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (came, moods) = (Arc::clone(&shared), Arc::clone(&moods));
                let service = service_fn(move |request| answer(request, came.clone(), moods.clone()));
                connections.spawn(async move {
                    let server = hyper::server::conn::http1::Builder::new();
                    let _ = server.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Self { url, came, _server: server }
    }

    fn came(&self) -> Vec<Came> {
        self.came.lock().unwrap().clone()
    }

    /// Waits until so many requests have come.
    async fn until(&self, n: usize) -> Vec<Came> {
        until(|| self.came().len() >= n).await;
        self.came()
    }
}

async fn until(is: impl Fn() -> bool) {
    let waited = tokio::time::timeout(LIMIT, async {
        while !is() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    waited.await.unwrap();
}

async fn answer(
    request: Request<Incoming>,
    came: Arc<Mutex<Vec<Came>>>,
    moods: Arc<Mutex<Vec<Mood>>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let mood = {
        let mut moods = moods.lock().unwrap();
        if moods.len() > 1 { moods.remove(0) } else { moods[0] }
    };
    came.lock().unwrap().push(Came { path: head.uri.path().to_owned(), headers: head.headers, body });
    let mut response = Response::new(Full::new(Bytes::from_static(b"told to")));
    match mood {
        Mood::Takes => {}
        Mood::Hangs => std::future::pending().await,
        Mood::Status(status, after) => {
            *response.status_mut() = status.try_into().unwrap();
            if let Some(after) = after {
                response.headers_mut().insert("retry-after", HeaderValue::from_static(after));
            }
        }
    }
    Ok(response)
}

fn target(receiver: &Receiver, format: Format) -> Target {
    Target {
        name: "ops".into(),
        url: receiver.url.clone(),
        format,
        secret: None,
        headers: HeaderMap::new(),
        timeout: Duration::from_secs(10),
        max_retries: 3,
        send_resolved: true,
    }
}

fn texts(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// 2024-02-29T12:34:56Z, and ten minutes later.
const BEGAN: WallTime = WallTime(1_709_210_096_000_000_000);
const ENDED: WallTime = WallTime(1_709_210_696_000_000_000);

fn firing(alert: &str) -> Notification {
    Notification {
        alert: alert.to_owned(),
        status: Status::Firing,
        severity: "critical".to_owned(),
        summary: "TTFT <p95> & \"more\"".to_owned(),
        condition: "ttft p95 > 2 s for 5 m".to_owned(),
        value: "3.2 s".to_owned(),
        labels: texts(&[("model", "llama")]),
        annotations: texts(&[("runbook", "http://wiki/ttft")]),
        starts_at: BEGAN,
        ends_at: None,
    }
}

fn resolved(alert: &str) -> Notification {
    Notification { status: Status::Resolved, ends_at: Some(ENDED), ..firing(alert) }
}

fn options() -> NotifyOptions {
    NotifyOptions { external_url: "http://weir:9090".to_owned(), ..NotifyOptions::default() }
}

fn start(targets: Vec<Target>) -> Notifier {
    Notifier::start(targets, options(), || Stamp(1)).unwrap()
}

/// What a receiver is sent in a format: firing, then resolved.
async fn bodies(format: Format) -> [Came; 2] {
    let receiver = Receiver::start([Mood::Takes]).await;
    let notifier = start(vec![target(&receiver, format)]);
    assert!(notifier.send("ops", firing("Slow")));
    assert!(notifier.send("ops", resolved("Slow")));
    assert!(!notifier.send("other", resolved("Slow")));
    notifier.finish(LIMIT).await;
    receiver.came().try_into().unwrap()
}

#[tokio::test]
async fn what_became_of_notifications_stands_on_the_page() {
    let receiver = Receiver::start([Mood::Takes, Mood::Status(400, None), Mood::Takes]).await;
    let notifier = start(vec![target(&receiver, Format::Slack)]);
    let sut = Sut::start(TelemetryConfig::default());
    let counts = notifier.counts().map(|(name, counts)| (name.into(), Arc::clone(counts)));
    sut.actions.set_targets(counts.collect());
    for alert in ["A", "B", "C"] {
        assert!(notifier.send("ops", firing(alert)));
    }
    notifier.finish(LIMIT).await;
    let page = sut.page().await;
    let fate = |fate| page.get("weir_notifications_total", &[("target", "ops"), ("fate", fate)]);
    assert_eq!((fate("sent"), fate("refused"), fate("gave_up")), (Some(2.0), Some(1.0), Some(0.0)));
    sut.shutdown().await;
}

#[tokio::test]
async fn a_webhook_is_sent_what_alertmanager_sends() {
    let [fires, ends] = bodies(Format::AlertmanagerWebhook).await;
    assert_eq!(
        (&*fires.path, &fires.headers["content-type"]),
        ("/", &HeaderValue::from_static("application/json"))
    );
    let labels = json!({"alertname": "Slow", "severity": "critical", "model": "llama"});
    let annotations = json!({
        "summary": "TTFT <p95> & \"more\"", "condition": "ttft p95 > 2 s for 5 m", "value": "3.2 s",
        "runbook": "http://wiki/ttft",
    });
    let mut expected = json!({
        "version": "4",
        "groupKey": "{}:{alertname=\"Slow\", model=\"llama\", severity=\"critical\"}",
        "truncatedAlerts": 0,
        "status": "firing",
        "receiver": "ops",
        "groupLabels": labels,
        "commonLabels": labels,
        "commonAnnotations": annotations,
        "externalURL": "http://weir:9090",
        "alerts": [{
            "status": "firing",
            "labels": labels,
            "annotations": annotations,
            "startsAt": "2024-02-29T12:34:56.000000000Z",
            "endsAt": "0001-01-01T00:00:00Z",
            "generatorURL": "http://weir:9090",
            "fingerprint": FINGERPRINT,
        }],
    });
    assert_eq!(fires.json(), expected);
    expected["status"] = json!("resolved");
    expected["alerts"][0]["status"] = json!("resolved");
    expected["alerts"][0]["endsAt"] = json!("2024-02-29T12:44:56.000000000Z");
    assert_eq!(ends.json(), expected);
}

/// As a running Alertmanager gives it for the same label set.
const FINGERPRINT: &str = "bea7c396f2e3c7e1";

#[tokio::test]
async fn slack_is_sent_a_message_with_a_colour() {
    let [fires, ends] = bodies(Format::Slack).await;
    let mut expected = json!({
        "text": "[FIRING] Slow",
        "attachments": [{
            "color": "danger",
            "fallback": "[FIRING] Slow: TTFT &lt;p95&gt; &amp; \"more\"",
            "text": "TTFT &lt;p95&gt; &amp; \"more\"\nCondition: ttft p95 &gt; 2 s for 5 m\nValue: 3.2 s",
            "fields": [{"title": "model", "value": "llama", "short": true}],
            "ts": 1_709_210_096,
        }],
    });
    assert_eq!(fires.json(), expected);
    expected["text"] = json!("[RESOLVED] Slow");
    expected["attachments"][0]["color"] = json!("good");
    expected["attachments"][0]["fallback"] = json!("[RESOLVED] Slow: TTFT &lt;p95&gt; &amp; \"more\"");
    expected["attachments"][0]["ts"] = json!(1_709_210_696);
    assert_eq!(ends.json(), expected);
}

#[tokio::test]
async fn plain_json_has_all_fields() {
    let [fires, ends] = bodies(Format::Json).await;
    let mut expected = json!({
        "receiver": "ops",
        "alert": "Slow",
        "status": "firing",
        "severity": "critical",
        "summary": "TTFT <p95> & \"more\"",
        "condition": "ttft p95 > 2 s for 5 m",
        "value": "3.2 s",
        "labels": {"model": "llama"},
        "annotations": {"runbook": "http://wiki/ttft"},
        "starts_at": "2024-02-29T12:34:56.000000000Z",
        "ends_at": null,
    });
    assert_eq!(fires.json(), expected);
    expected["status"] = json!("resolved");
    expected["ends_at"] = json!("2024-02-29T12:44:56.000000000Z");
    assert_eq!(ends.json(), expected);
}

#[tokio::test]
async fn a_template_makes_the_body() {
    let source = r#"{"msg": {{ summary|tojson }}, "to": {{ receiver|tojson }}, "is": {{ status|tojson }},
        "labels": [{% for name, value in labels|items %}"{{ name }}={{ value }}"{% endfor %}]}"#;
    let [fires, _] = bodies(Format::Template(source.to_owned())).await;
    let expected =
        json!({"msg": "TTFT <p95> & \"more\"", "to": "ops", "is": "firing", "labels": ["model=llama"]});
    assert_eq!(fires.json(), expected);
}

#[tokio::test]
async fn a_template_that_cannot_be_rendered_costs_its_notification() {
    let sources = [
        "{{ labels.nothing }}",
        "{{ nothing }}",
        "{% for i in range(10000) %}{% for j in range(10000) %}{% endfor %}{% endfor %}",
        "{% for i in range(1000) %}{% for j in range(3) %}{{ 'xxxxxxxxxx'|center(200) }}{% endfor %}{% endfor %}",
    ];
    for source in sources {
        let receiver = Receiver::start([Mood::Takes]).await;
        let target = target(&receiver, Format::Template(source.to_owned()));
        target.check().unwrap();
        let notifier = start(vec![target]);
        let counts = Arc::clone(notifier.counts().next().unwrap().1);
        notifier.send("ops", firing("Slow"));
        notifier.finish(LIMIT).await;
        assert_eq!((counts.lost(Lost::Unrenderable), receiver.came().len()), (1, 0), "{source}");
    }
}

#[tokio::test]
async fn what_can_never_be_sent_is_told_beforehand_and_without_secrets() {
    let receiver = Receiver::start([Mood::Takes]).await;
    let good = target(&receiver, Format::Json);
    let bad = [
        Target { format: Format::Template("{{ open".to_owned()), ..good.clone() },
        Target { format: Format::Template("{% include 'other' %}{% endfor %}".to_owned()), ..good.clone() },
        Target { url: "ftp://me:pass@host/hook".to_owned(), ..good.clone() },
        Target { url: "http://me:pass@:x/hook".to_owned(), ..good.clone() },
        Target { url: "http://am/?key=pass".to_owned(), format: Format::AlertmanagerPush, ..good.clone() },
    ];
    for target in bad {
        let error = target.check().unwrap_err().to_string();
        assert!(error.starts_with("notifications to ops: ") && !error.contains("pass"), "{error}");
        assert!(Notifier::start(vec![target], options(), || Stamp(1)).is_err());
    }
    let twice = Notifier::start(vec![good.clone(), good], options(), || Stamp(1)).unwrap_err();
    assert!(twice.to_string().contains("two targets"), "{twice}");
}

/// HMAC-SHA256 by its definition in RFC 2104.
fn hmac(key: &[u8], message: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    let padded = |pad: u8| (0..64).map(|i| key.get(i).copied().unwrap_or(0) ^ pad).collect::<Vec<u8>>();
    let inner = Sha256::digest([&padded(0x36), message].concat());
    let outer = Sha256::digest([padded(0x5c), inner.to_vec()].concat());
    outer.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn a_request_is_signed_with_the_time_of_its_attempt() {
    // What openssl gives for the key and the text of RFC 4231, test case 2.
    let known = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    assert_eq!(hmac(b"Jefe", b"what do ya want for nothing?"), known);
    let receiver = Receiver::start([Mood::Status(503, None), Mood::Takes]).await;
    let secret = Some(Secret::new("k3y"));
    let notifier = start(vec![Target { secret, ..target(&receiver, Format::Json) }]);
    notifier.send("ops", firing("Slow"));
    notifier.finish(LIMIT).await;
    let came = receiver.came();
    assert_eq!(came.len(), 2);
    for one in came {
        let timestamp = one.headers["x-weir-timestamp"].to_str().unwrap();
        assert!(timestamp.parse::<u64>().unwrap() > 1_700_000_000);
        let signed = [timestamp.as_bytes(), b".", &one.body].concat();
        let expected = format!("sha256={}", hmac(b"k3y", &signed));
        assert_eq!(one.headers["x-weir-signature"].to_str().unwrap(), expected);
    }
}

#[tokio::test]
async fn credentials_and_headers_are_sent_and_never_shown() {
    let receiver = Receiver::start([Mood::Takes]).await;
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("text/plain"));
    headers.insert("x-key", HeaderValue::from_static("hidden-header"));
    let url = format!(
        "{}/hidden-path?token=hidden-query",
        receiver.url.replace("http://", "http://me:hidden-pass@")
    );
    let secret = Some(Secret::new("hidden-secret"));
    let target = Target { url, headers, secret, ..target(&receiver, Format::Json) };
    let shown = format!("{target:?}");
    assert!(shown.contains("x-key") && !shown.contains("hidden"), "{shown}");
    let notifier = start(vec![target]);
    notifier.send("ops", firing("Slow"));
    let came = receiver.until(1).await;
    let shown = format!("{notifier:?}");
    assert!(!shown.contains("hidden"), "{shown}");
    notifier.finish(LIMIT).await;
    let header = |name: &str| came[0].headers[name].to_str().unwrap().to_owned();
    assert_eq!(header("authorization"), "Basic bWU6aGlkZGVuLXBhc3M=");
    assert_eq!((header("x-key"), header("content-type")), ("hidden-header".into(), "text/plain".into()));
}

#[tokio::test]
async fn who_is_busy_is_asked_again_and_not_before_the_time_it_asks_for() {
    for (status, after, least_ms) in [(503, None, 375), (500, None, 375), (429, Some("1"), 1_000)] {
        let receiver = Receiver::start([Mood::Status(status, after), Mood::Takes]).await;
        let notifier = start(vec![target(&receiver, Format::Json)]);
        let counts = Arc::clone(notifier.counts().next().unwrap().1);
        let begun = Instant::now();
        notifier.send("ops", firing("Slow"));
        notifier.finish(LIMIT).await;
        assert!(begun.elapsed() >= Duration::from_millis(least_ms), "{status} {:?}", begun.elapsed());
        assert_eq!((counts.sent(), counts.retries(), counts.waiting()), (1, 1, 0));
        assert_eq!(receiver.came().len(), 2);
    }
}

#[tokio::test]
async fn what_is_refused_is_not_sent_again() {
    for status in [400, 401, 404, 302] {
        let receiver = Receiver::start([Mood::Status(status, None)]).await;
        let notifier = start(vec![target(&receiver, Format::Json)]);
        let counts = Arc::clone(notifier.counts().next().unwrap().1);
        notifier.send("ops", firing("Slow"));
        notifier.finish(LIMIT).await;
        assert_eq!((counts.sent(), counts.lost(Lost::Refused), counts.waiting()), (0, 1, 0));
        assert_eq!(receiver.came().len(), 1);
    }
}

#[tokio::test]
async fn who_never_takes_it_is_given_up_after_so_many_retries() {
    for mood in [Mood::Status(503, None), Mood::Hangs] {
        let receiver = Receiver::start([mood]).await;
        let timeout = Duration::from_millis(100);
        let notifier = start(vec![Target { timeout, max_retries: 1, ..target(&receiver, Format::Json) }]);
        let counts = Arc::clone(notifier.counts().next().unwrap().1);
        notifier.send("ops", firing("Slow"));
        notifier.finish(LIMIT).await;
        assert_eq!(
            (counts.lost(Lost::GaveUp), counts.retries(), receiver.came().len()),
            (1, 1, 2),
            "{mood:?}"
        );
    }
}

#[tokio::test]
async fn no_notification_is_tried_beyond_the_deadline() {
    let receiver = Receiver::start([Mood::Status(503, Some("60"))]).await;
    let options = NotifyOptions { deadline: Duration::from_secs(30), ..options() };
    let notifier = Notifier::start(vec![target(&receiver, Format::Json)], options, || Stamp(1)).unwrap();
    let counts = Arc::clone(notifier.counts().next().unwrap().1);
    notifier.send("ops", firing("Slow"));
    until(|| counts.lost(Lost::GaveUp) == 1).await;
    assert_eq!(receiver.came().len(), 1);
}

#[tokio::test]
async fn order_is_kept_and_the_oldest_gives_way() {
    let receiver = Receiver::start([Mood::Status(503, None), Mood::Takes]).await;
    let notifier = start(vec![target(&receiver, Format::Json)]);
    let counts = Arc::clone(notifier.counts().next().unwrap().1);
    notifier.send("ops", firing("first"));
    receiver.until(1).await;
    for n in 0..300 {
        notifier.send("ops", firing(&n.to_string()));
    }
    notifier.finish(LIMIT).await;
    assert_eq!((counts.sent(), counts.lost(Lost::QueueFull), counts.waiting()), (257, 44, 0));
    let names: Vec<_> =
        receiver.came().iter().map(|came| came.json()["alert"].as_str().unwrap().to_owned()).collect();
    let mut expected = vec!["first".to_owned(), "first".to_owned()];
    expected.extend((44..300).map(|n| n.to_string()));
    assert_eq!(names, expected);
}

#[tokio::test]
async fn a_slow_target_delays_no_other_and_what_it_did_not_take_is_counted() {
    let (slow, quick) = (Receiver::start([Mood::Hangs]).await, Receiver::start([Mood::Takes]).await);
    let slow_target = Target { name: "slow".into(), ..target(&slow, Format::Json) };
    let notifier = start(vec![slow_target, target(&quick, Format::Json)]);
    let counts: BTreeMap<_, _> =
        notifier.counts().map(|(name, counts)| (name.to_owned(), Arc::clone(counts))).collect();
    for _ in 0..5 {
        notifier.send("slow", firing("Slow"));
        notifier.send("ops", firing("Slow"));
    }
    quick.until(5).await;
    slow.until(1).await;
    notifier.finish(Duration::from_millis(50)).await;
    assert_eq!((counts["slow"].lost(Lost::Shutdown), counts["slow"].sent()), (5, 0));
    assert_eq!((counts["ops"].lost(Lost::Shutdown), counts["ops"].sent()), (0, 5));
}

#[tokio::test]
async fn who_does_not_want_to_know_is_not_told_of_the_end() {
    let receiver = Receiver::start([Mood::Takes]).await;
    let notifier = start(vec![Target { send_resolved: false, ..target(&receiver, Format::Json) }]);
    let counts = Arc::clone(notifier.counts().next().unwrap().1);
    notifier.send("ops", firing("a"));
    notifier.send("ops", resolved("a"));
    notifier.send("ops", firing("b"));
    notifier.finish(LIMIT).await;
    let names: Vec<_> = receiver.came().iter().map(|came| came.json()["alert"].clone()).collect();
    assert_eq!((names, counts.waiting()), (vec![json!("a"), json!("b")], 0));
}

fn seconds(time: &Value) -> i64 {
    time.as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_second()
}

#[tokio::test]
async fn an_alertmanager_is_told_of_what_fires_until_it_no_longer_does() {
    let receiver = Receiver::start([Mood::Takes, Mood::Takes, Mood::Status(400, None), Mood::Takes]).await;
    let url = format!("{}/am/", receiver.url);
    let push = Target { url, send_resolved: false, ..target(&receiver, Format::AlertmanagerPush) };
    let options = NotifyOptions { resend: Duration::from_millis(500), ..options() };
    let mut notifier = Notifier::start(vec![push.clone()], options, || Stamp(1)).unwrap();
    let counts = Arc::clone(notifier.counts().next().unwrap().1);
    notifier.send("ops", firing("a"));
    notifier.send("ops", firing("b"));
    let came = receiver.until(5).await;
    assert!(came.iter().all(|one| one.path == "/am/api/v2/alerts"));
    let first = came[0].json();
    let now = jiff::Timestamp::now().as_second();
    assert!((now - 15..=now + 2).contains(&seconds(&first[0]["endsAt"])), "{first}");
    let mut expected = json!([{
        "labels": {"alertname": "a", "severity": "critical", "model": "llama"},
        "annotations": {
            "summary": "TTFT <p95> & \"more\"", "condition": "ttft p95 > 2 s for 5 m", "value": "3.2 s",
            "runbook": "http://wiki/ttft",
        },
        "startsAt": "2024-02-29T12:34:56.000000000Z",
        "generatorURL": "http://weir:9090",
    }]);
    expected[0]["endsAt"] = first[0]["endsAt"].clone();
    assert_eq!(first, expected);
    let names = |came: &Came| {
        let alerts = came.json().as_array().unwrap().clone();
        alerts
            .iter()
            .map(|alert| alert["labels"]["alertname"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&came[2]), ["a", "b"]);
    assert_eq!(names(&came[3]), ["a", "b"]);
    // What fires stays known when the target is set up anew.
    notifier.replace(vec![Target { max_retries: 1, ..push }]).unwrap();
    notifier.send("ops", resolved("a"));
    until(|| receiver.came().last().is_some_and(|last| names(last) == ["b"])).await;
    let ended = receiver
        .came()
        .into_iter()
        .find(|one| names(one) == ["a"] && one.json()[0]["endsAt"] == "2024-02-29T12:44:56.000000000Z");
    assert!(ended.is_some());
    assert_eq!((counts.sent(), counts.failed_resends()), (3, 1));
    assert!(counts.resends() >= 2);
    notifier.finish(LIMIT).await;
}

#[tokio::test]
async fn what_waits_for_a_target_that_goes_is_still_sent() {
    let (old, new) =
        (Receiver::start([Mood::Status(503, None), Mood::Takes]).await, Receiver::start([Mood::Takes]).await);
    let mut notifier = start(vec![target(&old, Format::Json)]);
    notifier.send("ops", firing("a"));
    old.until(1).await;
    let error = notifier.replace(vec![Target { url: "nothing".to_owned(), ..target(&new, Format::Json) }]);
    error.unwrap_err();
    notifier.send("ops", firing("b"));
    notifier.replace(vec![target(&new, Format::Json)]).unwrap();
    notifier.send("ops", firing("c"));
    notifier.finish(LIMIT).await;
    let names = |receiver: &Receiver| {
        receiver
            .came()
            .iter()
            .map(|came| came.json()["alert"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!((names(&old), names(&new)), (vec!["a".into(), "a".into(), "b".into()], vec!["c".to_owned()]));
}
