//! W3C Trace Context on the wire: what the upstream is told, and what the record says of it.

use weir_core::exchange::Exchange;
use weir_proxy::{ContextRules, TraceRule};

use crate::harness::rig::Setup;
use crate::harness::{Rig, request, response};

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const CHAT: &str = "POST /v1/chat/completions";

fn rule(trace: TraceRule) -> impl FnOnce(&mut Setup) {
    move |setup| setup.config.context = ContextRules { trace, ..ContextRules::default() }
}

/// One exchange: what the upstream was sent as `traceparent` and `tracestate`, and the record.
async fn exchange(trace: TraceRule, line: &str, headers: &str) -> ([Vec<String>; 2], Exchange) {
    let (mut rig, upstream) = Rig::with(rule(trace)).await;
    let mut client = rig.client().await;
    let body = if line == CHAT { r#"{"model":"m"}"# } else { "" };
    client.send(request(line, headers, body)).await;
    let (mut engine, asked) = upstream.asked().await;
    engine.send(response("200 OK", "", "{}")).await;
    assert_eq!(client.response().await.status(), 200);
    let all = |name: &str| asked.head.all(name).into_iter().map(str::to_owned).collect();
    ([all("traceparent"), all("tracestate")], rig.record().await)
}

#[tokio::test]
async fn a_trace_goes_on_through_weir() {
    for line in [CHAT, "GET /v1/models"] {
        let headers = format!("Traceparent: {PARENT}\r\ntracestate: b=2 ,\ta=1\r\nTraceState: c=3\r\n");
        let ([parents, states], record) = exchange(TraceRule::Continue, line, &headers).await;
        let place = record.trace.unwrap();
        assert_eq!(parents, [place.for_upstream()]);
        assert_eq!(parents[0][..36], PARENT[..36]);
        assert_ne!(parents[0], PARENT);
        assert_eq!(states, ["b=2 ,\ta=1", "c=3"], "byte for byte, and in their order");
        let parent = place.parent.unwrap();
        assert_eq!((parent.span_id.to_string().as_str(), parent.sampled), (&PARENT[36..52], true));
        assert_eq!(&*parent.state, "b=2 ,\ta=1,c=3");
    }
}

#[tokio::test]
async fn an_invalid_trace_is_none_and_a_new_one_begins() {
    for headers in [
        String::new(),
        "traceparent: 00-00000000000000000000000000000000-00f067aa0ba902b7-01\r\n".to_owned(),
        format!("traceparent: {PARENT}\r\ntraceparent: {PARENT}\r\n"),
        format!("traceparent: {}\r\n", PARENT.to_uppercase()),
    ] {
        let headers = format!("{headers}tracestate: a=1\r\n");
        let ([parents, states], record) = exchange(TraceRule::Continue, CHAT, &headers).await;
        let place = record.trace.unwrap();
        assert_eq!(parents, [place.for_upstream()], "{headers}");
        assert!(parents[0].ends_with("-01") && place.parent.is_none(), "{headers}");
        assert_ne!(parents[0][3..35], PARENT[3..35]);
        assert!(states.is_empty(), "{states:?}");
    }
}

#[tokio::test]
async fn what_the_client_does_not_keep_is_passed_on_so() {
    let headers = format!("traceparent: {}\r\n", PARENT.replace("-01", "-00"));
    let ([parents, _], record) = exchange(TraceRule::Continue, CHAT, &headers).await;
    assert!(parents[0].ends_with("-00"), "{parents:?}");
    assert!(!record.trace.unwrap().parent.unwrap().sampled);
}

#[tokio::test]
async fn headers_can_be_left_untouched() {
    let headers = format!("traceparent: {PARENT}\r\ntracestate: a=1\r\n");
    let untouched = [vec![PARENT.to_owned()], vec!["a=1".to_owned()]];
    let (told, record) = exchange(TraceRule::Join, CHAT, &headers).await;
    assert_eq!(told, untouched);
    let place = record.trace.unwrap();
    assert_eq!(place.trace_id.to_string(), PARENT[3..35]);
    let (told, record) = exchange(TraceRule::Ignore, CHAT, &headers).await;
    assert_eq!((told, record.trace), (untouched, None));
    let (told, _) = exchange(TraceRule::Ignore, CHAT, "traceparent: nonsense\r\ntracestate: \r\n").await;
    assert_eq!(told[0], ["nonsense"]);
    let ([parents, _], record) = exchange(TraceRule::Join, CHAT, "").await;
    assert!(parents.is_empty() && record.trace.is_some());
}

#[tokio::test]
async fn the_same_on_http_2() {
    let (mut rig, upstream) = Rig::with(rule(TraceRule::Continue)).await;
    let mut client = rig.http2_client().await;
    let ask = http::Request::post("http://weir.test/v1/chat/completions").header("traceparent", PARENT);
    let asked = client.send(ask.body(()).unwrap(), r#"{"model":"m"}"#).await;
    let (mut engine, request) = upstream.asked().await;
    engine.send(response("200 OK", "", "{}")).await;
    assert_eq!(asked.answer().await.head.status, 200);
    let record = rig.record().await;
    assert_eq!(request.head.header("traceparent"), Some(&*record.trace.unwrap().for_upstream()));
    assert_eq!(record.request.http.as_str(), "2");
}

#[tokio::test]
async fn configured_headers_name_the_session_and_the_user() {
    let (mut rig, upstream) = Rig::with(|setup| {
        setup.config.context.session_header = Some("x-session".parse().unwrap());
        setup.config.context.user_header = Some("x-user".parse().unwrap());
    })
    .await;
    let long = "u".repeat(300);
    for (headers, session, user) in [
        ("X-Session: s-1\r\nX-User: alice\r\n".to_owned(), Some("s-1"), Some("alice")),
        ("X-Session: \r\n".to_owned(), None, Some("bob")),
        (format!("x-user: {long}\r\n"), None, Some(&long[..200])),
    ] {
        let mut client = rig.client().await;
        client.send(request(CHAT, &headers, r#"{"model":"m","user":"bob"}"#)).await;
        let (mut engine, asked) = upstream.asked().await;
        engine.send(response("200 OK", "Connection: close\r\n", "{}")).await;
        client.response().await;
        assert_eq!(asked.head.all("x-user").len(), usize::from(headers.to_lowercase().contains("x-user")));
        let caller = rig.record().await.request.caller;
        assert_eq!((caller.session.as_deref(), caller.user.as_deref()), (session, user));
    }
}

#[tokio::test]
async fn what_clients_make_up_is_cut_on_record_and_passes_whole() {
    let (mut rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    let method = "M".repeat(300);
    client.send(request(&format!("{method} /{}", "p".repeat(300)), "", "")).await;
    let (mut engine, asked) = upstream.asked().await;
    engine.send(response("200 OK", "", "")).await;
    client.response().await;
    assert!(asked.head.line.starts_with(&method));
    let asked = rig.record().await.request;
    assert_eq!((asked.method.len(), asked.path.len()), (32, 256));
}
