//! The JSON of an answer: the events of a stream, or the whole body.
//!
//! Written by hand, because words stand in it with escapes that no serializer would choose.

use std::fmt::Write as _;

use bytes::Bytes;
use serde_json::Value;

use super::ask::Api;
use super::generation::{Fragment, Generation, Usage, escape};

/// The last event of a stream.
pub(crate) const DONE: Bytes = Bytes::from_static(b"data: [DONE]\n\n");
/// An error in the middle of a stream, as vLLM writes it.
pub(crate) const ERROR: Bytes = Bytes::from_static(
    b"data: {\"error\":{\"message\":\"simulated failure\",\"type\":\"InternalServerError\",\
      \"param\":null,\"code\":500}}\n\n",
);

/// A fixed `created`, so that the same draw gives the same bytes at any time.
const CREATED: u64 = 1_760_000_000;

/// Renders the events of one stream.
#[derive(Debug)]
pub(crate) struct Renderer {
    api: Api,
    /// Everything up to the choices, the same in every event.
    opening: String,
}

impl Renderer {
    pub(crate) fn new(generation: &Generation) -> Self {
        let object = match generation.ask.api {
            Api::Chat => "chat.completion.chunk",
            Api::Completions => "text_completion",
        };
        Renderer { api: generation.ask.api, opening: opening(generation, object) }
    }

    /// The event that names the role of a choice, or repeats the prompt.
    pub(crate) fn opening(&self, choice: u32, echo: Option<&str>, usage: Option<Usage>) -> Bytes {
        let said = match self.api {
            Api::Chat => r#""delta":{"role":"assistant","content":""}"#.to_owned(),
            Api::Completions => {
                format!(r#""text":"{}""#, escape(echo.unwrap_or_default()))
            }
        };
        self.event(choice, &said, "null", usage)
    }

    /// The event that carries a chunk of a choice.
    pub(crate) fn chunk(&self, choice: u32, fragment: &Fragment, usage: Option<Usage>) -> Bytes {
        let said = match (self.api, fragment) {
            (Api::Completions, Fragment::Text(text)) => format!(r#""text":"{text}""#),
            _ => format!(r#""delta":{{{}}}"#, member(fragment)),
        };
        self.event(choice, &said, "null", usage)
    }

    /// The event that ends a choice.
    pub(crate) fn finish(&self, choice: u32, reason: &str, usage: Option<Usage>) -> Bytes {
        let said = match self.api {
            Api::Chat => r#""delta":{}"#,
            Api::Completions => r#""text":"""#,
        };
        self.event(choice, said, &format!(r#""{reason}","stop_reason":null"#), usage)
    }

    /// The event that reports the usage of the whole stream.
    pub(crate) fn usage(&self, usage: Usage) -> Bytes {
        Bytes::from(format!("data: {}\"choices\":[],{}}}\n\n", self.opening, usage_member(usage)))
    }

    fn event(&self, choice: u32, said: &str, finish: &str, usage: Option<Usage>) -> Bytes {
        let usage = usage.map(|usage| format!(",{}", usage_member(usage))).unwrap_or_default();
        Bytes::from(format!(
            "data: {}\"choices\":[{{\"index\":{choice},{said},\"logprobs\":null,\
             \"finish_reason\":{finish}}}]{usage}}}\n\n",
            self.opening
        ))
    }
}

/// The body of an answer that is not streamed.
pub(crate) fn whole(generation: &Generation) -> Bytes {
    let object = match generation.ask.api {
        Api::Chat => "chat.completion",
        Api::Completions => "text_completion",
    };
    let mut body = opening(generation, object);
    body.push_str("\"choices\":[");
    for choice in 0..generation.ask.choices {
        let comma = if choice == 0 { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(
            body,
            "{comma}{{\"index\":{choice},{},\"logprobs\":null,\"finish_reason\":\"{}\",\
             \"stop_reason\":null}}",
            whole_choice(generation, choice),
            generation.finish_reason()
        );
    }
    let usage = generation.usage(generation.ask.choices, generation.steps());
    let _ = write!(body, "],{}}}", usage_member(usage));
    Bytes::from(body)
}

fn whole_choice(generation: &Generation, choice: u32) -> String {
    let mut text = escape(generation.ask.echo.as_deref().unwrap_or_default());
    let mut reasoning = String::new();
    let mut field = None;
    let mut call = None;
    let mut arguments = String::new();
    for step in 0..generation.steps() {
        match generation.fragment(choice, step) {
            Fragment::Text(piece) => text.push_str(&piece),
            Fragment::Reasoning(key, piece) => {
                field = Some(key);
                reasoning.push_str(&piece);
            }
            Fragment::ToolOpening { id, function, arguments: piece } => {
                call = Some((id, function));
                arguments.push_str(piece);
            }
            Fragment::ToolArguments(piece) => arguments.push_str(&piece),
        }
    }
    if generation.ask.api == Api::Completions {
        return format!(r#""text":"{text}""#);
    }
    let said = match (call, field) {
        (Some((id, function)), _) => format!(
            r#""content":null,"tool_calls":[{{"id":"{id}","type":"function","function":{{"name":{},"arguments":"{arguments}"}}}}]"#,
            Value::from(function)
        ),
        (None, Some(field)) => format!(r#""{field}":"{reasoning}","content":"{text}""#),
        (None, None) => format!(r#""content":"{text}""#),
    };
    format!(r#""message":{{"role":"assistant",{said}}}"#)
}

fn opening(generation: &Generation, object: &str) -> String {
    format!(
        r#"{{"id":{},"object":"{object}","created":{CREATED},"model":{},"#,
        Value::from(generation.id.as_str()),
        Value::from(generation.ask.model.as_str())
    )
}

fn member(fragment: &Fragment) -> String {
    match fragment {
        Fragment::Text(text) => format!(r#""content":"{text}""#),
        Fragment::Reasoning(key, text) => format!(r#""{key}":"{text}""#),
        Fragment::ToolOpening { id, function, arguments } => format!(
            r#""tool_calls":[{{"index":0,"id":"{id}","type":"function","function":{{"name":{},"arguments":"{arguments}"}}}}]"#,
            Value::from(function.as_str())
        ),
        Fragment::ToolArguments(arguments) => {
            format!(r#""tool_calls":[{{"index":0,"function":{{"arguments":"{arguments}"}}}}]"#)
        }
    }
}

fn usage_member(usage: Usage) -> String {
    let Usage { prompt, completion, reasoning } = usage;
    let total = prompt + completion;
    let details = reasoning
        .map(|tokens| format!(r#","completion_tokens_details":{{"reasoning_tokens":{tokens}}}"#))
        .unwrap_or_default();
    format!(
        r#""usage":{{"prompt_tokens":{prompt},"total_tokens":{total},"completion_tokens":{completion}{details}}}"#
    )
}
