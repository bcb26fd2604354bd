//! Ollama's own endpoints: one line of JSON for each event.

use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use super::messages::input;
use super::openai::{Tools, model_of};
use super::script::{Counts, Request, Script};
use crate::arrival::mean_gap;
use crate::engine::ask::{Ask, Content, Prompt, Terms, Wish, count_tokens, text_of};
use crate::engine::events::Event;
use crate::engine::fields::{Fields, json};
use crate::engine::generation::{Finish, Fragment, Generation, ToolCall, quote};
use crate::engine::refusal::{Refusal, SIMULATED};

/// [`super::script::CREATED`] as Ollama writes a moment.
pub(crate) const CREATED_AT: &str = "2025-10-09T08:53:20Z";

/// The endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Chat,
    Generate,
}

/// How one answer is written.
#[derive(Debug)]
pub(crate) struct Ollama {
    endpoint: Endpoint,
    model: String,
    /// What the engine takes for the prompt, and for each token after the first, as it was told. How
    /// long a request really took depends on others, and the same request has the same answer.
    pace: (Duration, Duration),
}

/// Reads a request.
pub(crate) fn read(body: &[u8], endpoint: Endpoint, terms: &Terms<'_>) -> Result<Request, Refusal> {
    let body = json(body)?;
    let fields = Fields::of(&body)?;
    let options = fields.inner("options")?;
    let text = match endpoint {
        Endpoint::Chat => text_of(fields.value("messages")),
        Endpoint::Generate => ["system", "prompt"].map(|name| text_of(fields.value(name))).join(" "),
    };
    // Below zero stands for no limit.
    let limit = options.integer("num_predict")?.filter(|limit| *limit > 0);
    let mut wish = Wish {
        model: Some(fields.needed("model")?.as_str().unwrap_or_default().to_owned()),
        stream: fields.flag_or("stream", true)?,
        prompts: vec![Prompt { tokens: count_tokens(&text), text }],
        limit: limit.map(|limit| u32::try_from(limit).unwrap_or(u32::MAX)),
        seed: options.integer("seed")?,
        ..Wish::default()
    };
    // `think` is a flag, or a level in words.
    if fields.value("think") == true || fields.value("think").is_string() {
        wish.content = Content::Reasoning;
    }
    let messages = fields.value("messages").as_array();
    let answered = messages.and_then(|messages| messages.last()).is_some_and(|last| last["role"] == "tool");
    Tools::of(&fields, "/function/name")?.add_to(&mut wish, answered);
    let pace = (terms.behaviour.ttft, mean_gap(terms.behaviour.tps));
    let script = Ollama { endpoint, model: model_of(&wish, terms).to_owned(), pace };
    Ok(Request { ask: Ask::settle(wish, terms)?, script: Box::new(script) })
}

impl Ollama {
    fn line(&self, said: &str, rest: &str) -> String {
        let model = quote(&self.model);
        format!(r#"{{"model":{model},"created_at":"{CREATED_AT}",{said},{rest}}}"#)
    }

    /// What an answer says, or a piece of it.
    fn said(&self, text: &str, thinking: &str, call: Option<&ToolCall>) -> String {
        let thinking = match thinking {
            "" => String::new(),
            _ => format!(r#","thinking":"{thinking}""#),
        };
        let calls = call.map(|call| {
            format!(
                r#","tool_calls":[{{"id":"{}","function":{{"index":0,"name":{},"arguments":{}}}}}]"#,
                call.id,
                quote(&call.function),
                input(&call.arguments)
            )
        });
        let calls = calls.unwrap_or_default();
        match self.endpoint {
            Endpoint::Chat => {
                format!(r#""message":{{"role":"assistant","content":"{text}"{thinking}{calls}}}"#)
            }
            Endpoint::Generate => format!(r#""response":"{text}"{thinking}"#),
        }
    }

    /// The members that end an answer; durations are in nanoseconds.
    fn end(&self, generation: &Generation) -> String {
        let usage = generation.total_usage();
        let (prompt, gap) = self.pace;
        let gaps = u32::try_from(usage.completion.saturating_sub(1)).unwrap_or(u32::MAX);
        let answer = gap.saturating_mul(gaps);
        let reason = match generation.finish() {
            Finish::Length => "length",
            Finish::Stop | Finish::ToolCalls => "stop",
        };
        format!(
            r#""done":true,"done_reason":"{reason}","total_duration":{},"load_duration":0,"prompt_eval_count":{},"prompt_eval_duration":{},"eval_count":{},"eval_duration":{}"#,
            prompt.saturating_add(answer).as_nanos(),
            usage.prompt,
            prompt.as_nanos(),
            usage.completion,
            answer.as_nanos()
        )
    }
}

fn line(mut json: String) -> Bytes {
    json.push('\n');
    Bytes::from(json)
}

impl Script for Ollama {
    fn media(&self) -> &'static str {
        "application/x-ndjson"
    }

    fn counts(&self, generation: &Generation) -> Counts {
        let steps = match generation.ask.content {
            Content::ToolCall(_) => 1,
            Content::Text | Content::Reasoning => u64::from(generation.steps()),
        };
        Counts { opening: 0, steps, closing: 1, failure: 1 }
    }

    fn opening(&mut self, _: &Generation) -> Vec<Event> {
        Vec::new()
    }

    /// A tool call comes in one piece, once it is complete.
    fn step(&mut self, generation: &Generation, step: u32) -> Vec<Bytes> {
        let said = match generation.fragment(0, step) {
            Fragment::Text(text) => self.said(&text, "", None),
            Fragment::Reasoning(text) => self.said("", &text, None),
            Fragment::ToolOpening { .. } | Fragment::ToolArguments(_) => {
                if step + 1 < generation.steps() {
                    return Vec::new();
                }
                self.said("", "", generation.said(0).call.as_ref())
            }
        };
        vec![line(self.line(&said, r#""done":false"#))]
    }

    fn closing(&mut self, generation: &Generation) -> Vec<Bytes> {
        vec![line(self.line(&self.said("", "", None), &self.end(generation)))]
    }

    fn failure(&self, _: &Generation, _: u64) -> Vec<Bytes> {
        vec![line(format!(r#"{{"error":"{SIMULATED}"}}"#))]
    }

    fn whole(&mut self, generation: &Generation) -> Bytes {
        let said = generation.said(0);
        let said = self.said(&said.text, &said.reasoning, said.call.as_ref());
        Bytes::from(self.line(&said, &self.end(generation)))
    }
}

/// The list of models that `/api/tags` gives.
pub(crate) fn tags(names: &[String]) -> String {
    let mut models = String::new();
    for (index, name) in names.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let name = Value::from(name.as_str());
        // Writing to a string cannot fail.
        let _ = write!(
            models,
            r#"{comma}{{"name":{name},"model":{name},"modified_at":"{CREATED_AT}","size":0,"digest":"{index:064x}","details":{{"parent_model":"","format":"gguf","family":"sim","families":["sim"],"parameter_size":"0B","quantization_level":"F16"}}}}"#
        );
    }
    format!(r#"{{"models":[{models}]}}"#)
}
