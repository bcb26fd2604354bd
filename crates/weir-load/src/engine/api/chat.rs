//! OpenAI chat completions, as vLLM writes them.

use std::fmt::Write as _;
use std::ops::Range;

use bytes::Bytes;

use super::logprobs;
use super::openai::{self, DONE, ERROR, Ending, Tools, UsageWanted, fingerprint, list, reason};
use super::script::{Counts, Request, Script, data};
use crate::engine::ask::{Ask, Content, Prompt, Terms};
use crate::engine::config::RoleChunk;
use crate::engine::events::{Due, Event};
use crate::engine::fields::{Fields, json};
use crate::engine::generation::{Fragment, Generation, Said, Usage, quote, text_ids};
use crate::engine::refusal::Refusal;

/// The most alternatives to a token that OpenAI gives.
const MAX_TOP: u32 = 20;

/// How one chat completion is written.
#[derive(Debug)]
pub(crate) struct Chat {
    id: String,
    model: String,
    role: RoleChunk,
    /// The field that carries reasoning.
    reasoning: &'static str,
    usage: UsageWanted,
    /// Log probabilities with so many alternatives, if they are wanted at all.
    top: Option<u32>,
    token_ids: bool,
}

/// Reads a request.
pub(crate) fn read(body: &[u8], terms: &Terms<'_>) -> Result<Request, Refusal> {
    let body = json(body)?;
    let fields = Fields::of(&body)?;
    let messages = fields.needed("messages")?;
    let answered = fields.needed_list("messages")?.last().is_some_and(|last| last["role"] == "tool");
    let mut wish = openai::wish(&fields)?;
    wish.limit = fields.tokens("max_completion_tokens")?.or(wish.limit);
    wish.prompts = vec![Prompt::of(messages)];
    let effort = fields.text("reasoning_effort")?.is_some_and(|effort| effort != "none");
    if effort || fields.value("chat_template_kwargs")["enable_thinking"] == true {
        wish.content = Content::Reasoning;
    }
    Tools::of(&fields, "/function/name")?.add_to(&mut wish, answered);
    let top = fields.count("top_logprobs", 0, MAX_TOP)?.unwrap_or(0);
    let script = Chat {
        id: format!("chatcmpl-{}", terms.id),
        model: openai::model_of(&wish, terms).to_owned(),
        role: terms.behaviour.role,
        reasoning: terms.behaviour.reasoning.key(),
        usage: UsageWanted::of(&fields)?,
        top: fields.flag("logprobs")?.then_some(top),
        token_ids: fields.flag("return_token_ids")?,
    };
    let ask = Ask::settle(wish, terms)?;
    logprobs::check(script.top, &ask)?;
    Ok(Request { ask, script: Box::new(script) })
}

impl Chat {
    fn event(&self, choices: &str, rest: &str) -> Bytes {
        let head = openai::head(&self.id, "chat.completion.chunk", &self.model);
        data(&format!("{head}\"choices\":[{choices}]{rest}}}"))
    }

    /// Usage on an event of a single choice, where the request wants it there.
    fn running(&self, usage: Usage) -> String {
        match self.usage {
            UsageWanted::OnEvery => format!(",{}", openai::usage(usage)),
            UsageWanted::Never | UsageWanted::AtEnd => String::new(),
        }
    }

    fn role(&self, generation: &Generation, choice: u32) -> Bytes {
        let said = format!(
            r#"{{"index":{choice},"delta":{{"role":"assistant","content":""}},"logprobs":null,"finish_reason":null}}"#
        );
        let usage = self.running(generation.usage(1, 0));
        let rest =
            format!(r#"{usage},"prompt_token_ids":{},"prompt_text":null"#, self.prompt_ids(generation));
        self.event(&said, &rest)
    }

    fn chunk(&self, generation: &Generation, choice: u32, step: u32) -> Bytes {
        let fragment = generation.fragment(choice, step);
        let logprobs = match fragment {
            Fragment::Text(_) | Fragment::Reasoning(_) => self.logprobs(generation, choice, step..step + 1),
            Fragment::ToolOpening { .. } | Fragment::ToolArguments(_) => None,
        };
        let ending = Ending::of_chunk(generation, choice, step + 1);
        let said = format!(
            r#"{{"index":{choice},"delta":{{{}}},"logprobs":{},"finish_reason":{}{},"token_ids":{}}}"#,
            self.delta(&fragment),
            logprobs.as_deref().unwrap_or("null"),
            ending.reason(),
            // Only what ends a choice says which stop string did so: none.
            if ending.finish.is_some() { r#","stop_reason":null"# } else { "" },
            self.ids(generation, choice, step..step + 1),
        );
        let usage = self.running(generation.usage(1, step + 1));
        self.event(&said, &format!("{usage}{}", ending.fingerprint(self.usage)))
    }

    fn finish(&self, generation: &Generation, choice: u32) -> Bytes {
        let ending = Ending::of_choice(generation, choice);
        let said = format!(
            r#"{{"index":{choice},"delta":{{}},"logprobs":null,"finish_reason":{},"stop_reason":null,"token_ids":null}}"#,
            ending.reason()
        );
        let usage = self.running(generation.usage(1, generation.steps()));
        self.event(&said, &format!("{usage}{}", ending.fingerprint(self.usage)))
    }

    fn delta(&self, fragment: &Fragment) -> String {
        match fragment {
            Fragment::Text(text) => format!(r#""content":"{text}""#),
            Fragment::Reasoning(text) => format!(r#""{}":"{text}""#, self.reasoning),
            Fragment::ToolOpening { id, function, arguments } => format!(
                r#""tool_calls":[{{"index":0,"id":"{id}","type":"function","function":{{"name":{},"arguments":"{arguments}"}}}}]"#,
                quote(function)
            ),
            Fragment::ToolArguments(arguments) => {
                format!(r#""tool_calls":[{{"index":0,"function":{{"arguments":"{arguments}"}}}}]"#)
            }
        }
    }

    fn logprobs(&self, generation: &Generation, choice: u32, steps: Range<u32>) -> Option<String> {
        self.top.map(|top| logprobs::chat(generation, choice, steps, top))
    }

    /// The ids of the tokens of some steps, where the request wants them.
    fn ids(&self, generation: &Generation, choice: u32, steps: Range<u32>) -> String {
        if !self.token_ids {
            return "null".to_owned();
        }
        list(steps.flat_map(|step| generation.tokens(choice, step)).map(|token| token.id))
    }

    fn prompt_ids(&self, generation: &Generation) -> String {
        if !self.token_ids {
            return "null".to_owned();
        }
        list(text_ids(generation.ask.prompt()))
    }

    fn whole_choice(&self, generation: &Generation, choice: u32) -> String {
        let Said { reasoning, text, call } = generation.said(choice);
        let steps = 0..generation.steps();
        let logprobs = match call {
            None => self.logprobs(generation, choice, steps.clone()),
            Some(_) => None,
        };
        let content = if call.is_some() { "null".to_owned() } else { format!("\"{text}\"") };
        let calls = call.map_or_else(String::new, |call| {
            format!(
                r#""tool_calls":[{{"id":"{}","type":"function","function":{{"name":{},"arguments":"{}"}}}}],"#,
                call.id,
                quote(&call.function),
                call.arguments
            )
        });
        let reasoning = if reasoning.is_empty() { "null".to_owned() } else { format!("\"{reasoning}\"") };
        format!(
            r#"{{"index":{choice},"message":{{"role":"assistant","content":{content},"refusal":null,"annotations":null,"audio":null,"function_call":null,{calls}"{}":{reasoning}}},"logprobs":{},"finish_reason":"{}","stop_reason":null,"token_ids":{},"routed_experts":null}}"#,
            self.reasoning,
            logprobs.as_deref().unwrap_or("null"),
            reason(generation.finish()),
            self.ids(generation, choice, steps),
        )
    }
}

impl Script for Chat {
    fn counts(&self, generation: &Generation) -> Counts {
        let choices = u64::from(generation.ask.choices);
        let usage = u64::from(self.usage != UsageWanted::Never);
        Counts {
            opening: choices,
            steps: choices * u64::from(generation.steps()),
            closing: Ending::events(generation) + usage + 1,
            failure: 2,
        }
    }

    fn opening(&mut self, generation: &Generation) -> Vec<Event> {
        let due = match self.role {
            RoleChunk::Early => Due::AtOnce,
            RoleChunk::Late => Due::With(0),
        };
        let roles = (0..generation.ask.choices).map(|choice| self.role(generation, choice));
        roles.map(|bytes| Event { due, bytes }).collect()
    }

    /// Choices take turns, as a batch generates them.
    fn step(&mut self, generation: &Generation, step: u32) -> Vec<Bytes> {
        (0..generation.ask.choices).map(|choice| self.chunk(generation, choice, step)).collect()
    }

    fn closing(&mut self, generation: &Generation) -> Vec<Bytes> {
        let mut events = Vec::new();
        if Ending::events(generation) > 0 {
            events.extend((0..generation.ask.choices).map(|choice| self.finish(generation, choice)));
        }
        if self.usage != UsageWanted::Never {
            let usage = openai::usage(generation.total_usage());
            events.push(self.event("", &format!(",{usage},{}", fingerprint())));
        }
        events.push(Bytes::from_static(DONE.as_bytes()));
        events
    }

    fn failure(&self, _: &Generation, _: u64) -> Vec<Bytes> {
        [ERROR, DONE].map(|event| Bytes::from_static(event.as_bytes())).to_vec()
    }

    fn whole(&mut self, generation: &Generation) -> Bytes {
        let mut body = openai::head(&self.id, "chat.completion", &self.model);
        let choices: Vec<String> =
            (0..generation.ask.choices).map(|choice| self.whole_choice(generation, choice)).collect();
        // Writing to a string cannot fail.
        let _ = write!(
            body,
            r#""choices":[{}],"service_tier":null,{},{},"prompt_logprobs":null,"prompt_token_ids":{},"prompt_text":null,"kv_transfer_params":null,"ec_transfer_params":null,"metrics":null}}"#,
            choices.join(","),
            fingerprint(),
            openai::whole_usage(generation.total_usage()),
            self.prompt_ids(generation),
        );
        Bytes::from(body)
    }
}
