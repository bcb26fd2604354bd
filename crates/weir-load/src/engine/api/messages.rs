//! Anthropic messages.

use bytes::Bytes;
use serde_json::Value;

use super::blocks::{Block, Place};
use super::openai::{Tools, model_of};
use super::script::{Counts, Request, Script, named};
use crate::engine::ask::{Ask, Content, Prompt, Terms, Wish, count_tokens, text_of};
use crate::engine::config::RoleChunk;
use crate::engine::events::{Due, Event};
use crate::engine::fields::{Fields, json};
use crate::engine::generation::{Finish, Fragment, Generation, Usage, plain, quote};
use crate::engine::refusal::{Refusal, SIMULATED};

/// How one message is written.
#[derive(Debug)]
pub(crate) struct Messages {
    id: String,
    model: String,
    role: RoleChunk,
}

/// Reads a request.
pub(crate) fn read(body: &[u8], terms: &Terms<'_>) -> Result<Request, Refusal> {
    let body = json(body)?;
    let fields = Fields::of(&body)?;
    let prompt = prompt(&fields)?;
    fields.needed("max_tokens")?;
    fields.check_temperature()?;
    let mut wish = Wish {
        model: fields.text("model")?.map(str::to_owned),
        stream: fields.flag("stream")?,
        prompts: vec![prompt],
        limit: fields.tokens("max_tokens")?,
        ..Wish::default()
    };
    let thinking = fields.inner("thinking")?.text("type")?;
    if matches!(thinking, Some("enabled" | "adaptive")) {
        wish.content = Content::Reasoning;
    }
    tools(&fields)?.add_to(&mut wish, answered(&fields));
    let script = Messages {
        id: format!("msg_{}", terms.id),
        model: model_of(&wish, terms).to_owned(),
        role: terms.behaviour.role,
    };
    Ok(Request { ask: Ask::settle(wish, terms)?, script: Box::new(script) })
}

/// The prompt that a request's messages make, with the system's before them.
pub(crate) fn prompt(fields: &Fields<'_>) -> Result<Prompt, Refusal> {
    fields.needed_list("messages")?;
    let texts = ["system", "messages"].map(|name| text_of(fields.value(name)));
    let text = texts.join(" ").trim().to_owned();
    Ok(Prompt { tokens: count_tokens(&text), text })
}

fn tools(fields: &Fields<'_>) -> Result<Tools, Refusal> {
    let choice = fields.inner("tool_choice")?;
    let first = fields.value("tools")[0]["name"].as_str();
    match (choice.text("type")?, first) {
        (Some("none"), _) | (None | Some("auto"), None) => Ok(Tools::None),
        (None | Some("auto"), Some(first)) => Ok(Tools::Free(first.to_owned())),
        (Some("any" | "tool"), Some(first)) => {
            Ok(Tools::Forced(choice.text("name")?.unwrap_or(first).to_owned()))
        }
        (Some(_), _) => Err(Refusal::invalid("tool_choice: needs `tools`, and is auto, any, tool or none")),
    }
}

/// Whether the last message brings a tool's answer.
fn answered(fields: &Fields<'_>) -> bool {
    let last = fields.value("messages").as_array().and_then(|messages| messages.last());
    let parts = last.and_then(|last| last["content"].as_array());
    parts.is_some_and(|parts| parts.iter().any(|part| part["type"] == "tool_result"))
}

/// Cached tokens are not part of the input's count, but stand beside it.
pub(super) fn usage(usage: Usage) -> String {
    let cached = usage.cached.map(|tokens| format!(r#","cache_read_input_tokens":{tokens}"#));
    format!(
        r#"{{"input_tokens":{}{},"output_tokens":{}}}"#,
        usage.prompt.saturating_sub(usage.cached.unwrap_or(0)),
        cached.unwrap_or_default(),
        usage.completion
    )
}

fn reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "end_turn",
        Finish::Length => "max_tokens",
        Finish::ToolCalls => "tool_use",
    }
}

/// A tool call's id in Anthropic's form.
fn call_id(id: &str) -> String {
    id.replacen("call_", "toolu_", 1)
}

/// What signs a block of thinking.
fn signature(generation: &Generation) -> String {
    format!("{:016x}", generation.wording)
}

impl Messages {
    fn start(&self, generation: &Generation) -> Bytes {
        let json = format!(
            r#"{{"type":"message_start","message":{{"id":{},"type":"message","role":"assistant","content":[],"model":{},"stop_reason":null,"stop_sequence":null,"usage":{}}}}}"#,
            quote(&self.id),
            quote(&self.model),
            usage(generation.usage(1, 0))
        );
        named("message_start", &json)
    }
}

/// What opens a block; a tool call says its id and function.
fn open(place: Place, fragment: &Fragment) -> Bytes {
    let block = match fragment {
        Fragment::ToolOpening { id, function, .. } => {
            format!(r#"{{"type":"tool_use","id":"{}","name":{},"input":{{}}}}"#, call_id(id), quote(function))
        }
        Fragment::Reasoning(_) => r#"{"type":"thinking","thinking":"","signature":""}"#.to_owned(),
        Fragment::Text(_) | Fragment::ToolArguments(_) => r#"{"type":"text","text":""}"#.to_owned(),
    };
    let index = place.index;
    let json = format!(r#"{{"type":"content_block_start","content_block":{block},"index":{index}}}"#);
    named("content_block_start", &json)
}

fn delta(index: u32, kind: &str, key: &str, text: &str) -> Bytes {
    let json = format!(
        r#"{{"type":"content_block_delta","delta":{{"type":"{kind}","{key}":"{text}"}},"index":{index}}}"#
    );
    named("content_block_delta", &json)
}

fn close(index: u32) -> Bytes {
    named("content_block_stop", &format!(r#"{{"type":"content_block_stop","index":{index}}}"#))
}

impl Script for Messages {
    fn counts(&self, generation: &Generation) -> Counts {
        let chunks = u64::from(generation.steps());
        let start_and_ping = 2;
        let steps = match Place::last(generation) {
            // The first chunk of a call is its opening, unless it is the only one.
            Place { block: Block::Call, .. } => start_and_ping + chunks - u64::from(chunks > 1),
            // Between the blocks stand a signature, a stop and a start.
            Place { index: 1, .. } => start_and_ping + chunks + 3,
            Place { .. } => start_and_ping + chunks,
        };
        Counts { opening: 1, steps, closing: 3, failure: 1 }
    }

    fn opening(&mut self, generation: &Generation) -> Vec<Event> {
        let due = match self.role {
            RoleChunk::Early => Due::AtOnce,
            RoleChunk::Late => Due::With(0),
        };
        vec![Event { due, bytes: self.start(generation) }]
    }

    fn step(&mut self, generation: &Generation, step: u32) -> Vec<Bytes> {
        let place = Place::of(generation, step);
        let fragment = generation.fragment(0, step);
        let mut events = Vec::new();
        if place.opens && place.index > 0 {
            let signed = signature(generation);
            events.push(delta(place.index - 1, "signature_delta", "signature", &signed));
            events.push(close(place.index - 1));
        }
        if place.opens {
            events.push(open(place, &fragment));
        }
        if place.opens && place.index == 0 {
            events.push(named("ping", r#"{"type":"ping"}"#));
        }
        match &fragment {
            Fragment::Text(text) => events.push(delta(place.index, "text_delta", "text", text)),
            Fragment::Reasoning(text) => {
                events.push(delta(place.index, "thinking_delta", "thinking", text));
            }
            Fragment::ToolOpening { arguments: "", .. } => {}
            Fragment::ToolOpening { arguments, .. } => {
                events.push(delta(place.index, "input_json_delta", "partial_json", arguments));
            }
            Fragment::ToolArguments(arguments) => {
                events.push(delta(place.index, "input_json_delta", "partial_json", arguments));
            }
        }
        events
    }

    fn closing(&mut self, generation: &Generation) -> Vec<Bytes> {
        let json = format!(
            r#"{{"type":"message_delta","delta":{{"stop_reason":"{}","stop_sequence":null}},"usage":{}}}"#,
            reason(generation.finish()),
            usage(generation.total_usage())
        );
        vec![
            close(Place::last(generation).index),
            named("message_delta", &json),
            named("message_stop", r#"{"type":"message_stop"}"#),
        ]
    }

    fn failure(&self, _: &Generation, _: u64) -> Vec<Bytes> {
        let json = format!(r#"{{"type":"error","error":{{"type":"api_error","message":"{SIMULATED}"}}}}"#);
        vec![named("error", &json)]
    }

    fn whole(&mut self, generation: &Generation) -> Bytes {
        let said = generation.said(0);
        let mut blocks = Vec::new();
        if !said.reasoning.is_empty() {
            blocks.push(format!(
                r#"{{"type":"thinking","thinking":"{}","signature":"{}"}}"#,
                said.reasoning,
                signature(generation)
            ));
        }
        match said.call {
            None => blocks.push(format!(r#"{{"type":"text","text":"{}"}}"#, said.text)),
            Some(call) => blocks.push(format!(
                r#"{{"type":"tool_use","id":"{}","name":{},"input":{}}}"#,
                call_id(&call.id),
                quote(&call.function),
                input(&call.arguments)
            )),
        }
        Bytes::from(format!(
            r#"{{"id":{},"type":"message","role":"assistant","content":[{}],"model":{},"stop_reason":"{}","stop_sequence":null,"usage":{}}}"#,
            quote(&self.id),
            blocks.join(","),
            quote(&self.model),
            reason(generation.finish()),
            usage(generation.total_usage())
        ))
    }
}

/// A call's arguments as an object. Those of a call that was cut short are none.
pub(crate) fn input(arguments: &str) -> Value {
    serde_json::from_str(&plain(arguments)).unwrap_or_else(|_| Value::Object(serde_json::Map::new()))
}
