//! Exchanges and price books to count with.

use serde_json::{Value, json};
use weir_analysis::cost::{CostConfig, Costs, PriceBook};
use weir_analysis::time::Moment;
use weir_core::exchange::Exchange;
use weir_core::observation::Tick;
use weir_core::timeline::Stamp;

pub(crate) const SECOND: u64 = 1_000_000_000;

/// Prices of a dollar and more for a million tokens, so that sums are easy to do by hand.
pub(crate) const BOOK: &str = r#"{
  "sample_spec": {"input_cost_per_token": "prose"},
  "omni": {"input_cost_per_token": 2e-6, "output_cost_per_token": 8e-6,
    "cache_read_input_token_cost": 5e-7, "output_cost_per_reasoning_token": 1e-5,
    "input_cost_per_audio_token": 4e-5, "output_cost_per_audio_token": 8e-5,
    "input_cost_per_token_priority": 4e-6, "output_cost_per_token_priority": 1.6e-5,
    "cache_read_input_token_cost_priority": 1e-6, "input_cost_per_token_flex": 1e-6},
  "sonnet": {"input_cost_per_token": 3e-6, "output_cost_per_token": 1.5e-5,
    "cache_read_input_token_cost": 3e-7, "cache_creation_input_token_cost": 3.75e-6,
    "cache_creation_input_token_cost_above_1hr": 6e-6,
    "input_cost_per_token_above_200k_tokens": 6e-6, "output_cost_per_token_above_200k_tokens": 2.25e-5,
    "cache_read_input_token_cost_above_200k_tokens": 6e-7},
  "plain": {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6},
  "embed": {"input_cost_per_token": 2e-8, "output_cost_per_token": 0},
  "promptless": {"output_cost_per_token": 2e-6},
  "free": {"input_cost_per_token": 0, "output_cost_per_token": 0}
}"#;

pub(crate) fn book() -> PriceBook {
    PriceBook::read(BOOK.as_bytes()).unwrap()
}

pub(crate) fn costs(book: PriceBook) -> Costs {
    Costs::new(CostConfig { book, gpu: None, started: Moment(0), max_models: 3 })
}

/// A completed exchange of a model, with the usage as records have it.
pub(crate) fn exchange(model: &str, usage: Value) -> Exchange {
    from(record(model, usage))
}

/// The record of one, to be changed.
pub(crate) fn record(model: &str, usage: Value) -> Value {
    let full = |usage: Value| {
        let mut all = json!({"input":null,"output":null,"total":null,"cached_input":null,"reasoning":null});
        all.as_object_mut().unwrap().extend(usage.as_object().unwrap().clone());
        all
    };
    let tokens = usage.get("output").map(|count| json!({"count":count,"provenance":"reported"}));
    json!({
        "id":1,"request_id":"r","received":0,"received_mono":0,
        "request":{"method":"POST","path":"/v1/chat/completions","dialect":"openai_chat","model":model,
            "stream":true,"choices":1,"bytes":10},
        "upstream":"default","status":200,"outcome":"completed","error_type":null,
        "timeline":{"received":0,"queued":0,"admitted":0,"dispatched":0,"ended":SECOND},
        "body_wait":0,
        "answer":{"bytes":1,"stream":true,"model":null,"finish_reasons":["stop"],
            "usage":if usage.is_null() { Value::Null } else { full(usage) },"tokens":tokens,"output":null,
            "scan":{"events":1,"comments":0,"broken":0,"oversized":0,"unterminated":false},"unpacked":null},
    })
}

pub(crate) fn from(record: Value) -> Exchange {
    serde_json::from_value(record).unwrap()
}

/// A tick with so many waiting and so many decoding.
pub(crate) fn tick(at_ns: u64, waiting: u64, decoding: u64) -> Tick {
    let mut tick = Tick { at: Stamp(at_ns), ..Tick::default() };
    tick.in_flight.phases = [0, waiting, 0, decoding];
    tick
}
