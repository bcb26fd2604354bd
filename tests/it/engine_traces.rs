//! A trace from the client through Weir to an engine that OpenTelemetry's own SDK has instrumented.

use weir_load::engine::{Behaviour, Engine, EngineConfig};
use weir_proxy::{ContextRules, TraceRule};

use crate::harness::{Rig, Upstream, request, response};

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// The engine's span hangs below the call that Weir has made, in the client's trace. The bytes are
/// searched for the ids as OTLP has them: protobuf, a trace of 16 bytes, a parent of 8.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_engines_span_is_below_ours() {
    let collector = Upstream::bind().await;
    let traces = format!("http://{}/v1/traces", collector.address());
    let behaviour = Behaviour { tps: f64::INFINITY, ..Behaviour::default() };
    let config = EngineConfig { behaviour, traces: Some(traces), ..EngineConfig::default() };
    let engine = Engine::bind(config, "127.0.0.1:0".parse().unwrap()).await.unwrap();
    let rule = ContextRules { trace: TraceRule::Continue, ..ContextRules::default() };
    let mut rig = Rig::towards(engine.addr(), |setup| setup.config.context = rule);
    let mut client = rig.client().await;
    let headers = format!("traceparent: {PARENT}\r\n");
    let body = r#"{"model":"sim","max_tokens":3,"messages":[{"role":"user","content":"x"}]}"#;
    client.send(request("POST /v1/chat/completions", &headers, body)).await;
    assert_eq!(client.response().await.status(), 200);
    let place = rig.record().await.trace.unwrap();

    let receive = async {
        let (mut wire, export) = collector.asked().await;
        wire.send(response("200 OK", "Content-Type: application/x-protobuf\r\n", "")).await;
        export
    };
    let ((), export) = tokio::join!(engine.shutdown(), receive);
    let holds = |id: &[u8]| export.body.windows(id.len()).any(|window| window == id);
    assert_eq!(place.trace_id.to_string(), PARENT[3..35]);
    assert!(holds(place.trace_id.bytes()));
    assert!(holds(place.client_span.bytes()));
    assert!(!holds(place.server_span.bytes()));
    assert!(holds(b"llm_request"));
}
