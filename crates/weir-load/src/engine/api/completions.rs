//! OpenAI text completions, as vLLM writes them.

use std::fmt::Write as _;

use bytes::Bytes;

use super::logprobs::{self, Columns};
use super::openai::{self, DONE, ERROR, Ending, UsageWanted, fingerprint, list, reason};
use super::script::{Counts, Request, Script, data};
use crate::engine::ask::{Ask, Prompt, Terms};
use crate::engine::events::{Due, Event};
use crate::engine::fields::{Fields, json};
use crate::engine::generation::{Fragment, Generation, Usage, escape, quote, text_ids};
use crate::engine::refusal::Refusal;

/// The most alternatives to a token that vLLM gives.
const MAX_TOP: u32 = 20;

/// How one text completion is written.
#[derive(Debug)]
pub(crate) struct Completions {
    id: String,
    model: String,
    usage: UsageWanted,
    prompts: Vec<Prompt>,
    /// Whether each choice begins with its prompt.
    echo: bool,
    /// Log probabilities with so many alternatives, if they are wanted at all.
    top: Option<u32>,
    /// The log probabilities of each choice, not yet written.
    columns: Vec<Columns>,
    token_ids: bool,
}

/// Reads a request.
pub(crate) fn read(body: &[u8], terms: &Terms<'_>) -> Result<Request, Refusal> {
    let body = json(body)?;
    let fields = Fields::of(&body)?;
    let mut wish = openai::wish(&fields)?;
    wish.prompts = Prompt::each_of(fields.needed("prompt")?);
    let script = Completions {
        id: format!("cmpl-{}", terms.id),
        model: openai::model_of(&wish, terms).to_owned(),
        usage: UsageWanted::of(&fields)?,
        prompts: wish.prompts.clone(),
        echo: fields.flag("echo")?,
        top: fields.count("logprobs", 0, MAX_TOP)?,
        columns: Vec::new(),
        token_ids: fields.flag("return_token_ids")?,
    };
    let ask = Ask::settle(wish, terms)?;
    logprobs::check(script.top, &ask)?;
    Ok(Request { ask, script: Box::new(script) })
}

impl Completions {
    /// The prompt of a choice: the choices of one prompt stand beside each other.
    fn prompt(&self, generation: &Generation, choice: u32) -> &str {
        let each = generation.ask.choices_each();
        self.prompts.get((choice / each) as usize).map_or("", |prompt| &prompt.text)
    }

    fn event(&self, choices: &str, rest: &str) -> Bytes {
        let head = openai::head(&self.id, "text_completion", &self.model);
        data(&format!("{head}\"choices\":[{choices}]{rest}}}"))
    }

    /// Usage on an event of a single choice, where the request wants it there.
    fn running(&self, usage: Usage) -> String {
        match self.usage {
            UsageWanted::OnEvery => format!(",{}", openai::usage(usage)),
            UsageWanted::Never | UsageWanted::AtEnd => String::new(),
        }
    }

    fn column(&mut self, choice: u32) -> &mut Columns {
        let at = choice as usize;
        if self.columns.len() <= at {
            self.columns.resize(at + 1, Columns::default());
        }
        &mut self.columns[at]
    }

    fn echo(&mut self, generation: &Generation, choice: u32) -> Bytes {
        let prompt = self.prompt(generation, choice).to_owned();
        let logprobs = self.top.map(|_| {
            let column = self.column(choice);
            column.echo(&prompt);
            column.take()
        });
        let said = format!(
            r#"{{"index":{choice},"text":{},"logprobs":{},"finish_reason":null,"stop_reason":null,"prompt_token_ids":null,"token_ids":null}}"#,
            quote(&prompt),
            logprobs.as_deref().unwrap_or("null"),
        );
        self.event(&said, &self.running(generation.usage(1, 0)))
    }

    fn chunk(&mut self, generation: &Generation, choice: u32, step: u32) -> Bytes {
        let text = text(generation, choice, step);
        let logprobs = self.top.map(|top| {
            let column = self.column(choice);
            column.chunk(generation, choice, step, top);
            column.take()
        });
        let prompt = if step == 0 && self.token_ids {
            list(text_ids(self.prompt(generation, choice)))
        } else {
            "null".to_owned()
        };
        let ending = Ending::of_chunk(generation, choice, step + 1);
        let said = format!(
            r#"{{"index":{choice},"text":"{text}","logprobs":{},"finish_reason":{},"stop_reason":null,"prompt_token_ids":{prompt},"token_ids":{}}}"#,
            logprobs.as_deref().unwrap_or("null"),
            ending.reason(),
            self.ids(generation, choice, step..step + 1),
        );
        let usage = self.running(generation.usage(1, step + 1));
        self.event(&said, &format!("{usage}{}", ending.fingerprint(self.usage)))
    }

    fn finish(&self, generation: &Generation, choice: u32) -> Bytes {
        let ending = Ending::of_choice(generation, choice);
        let said = format!(
            r#"{{"index":{choice},"text":"","logprobs":null,"finish_reason":{},"stop_reason":null,"prompt_token_ids":null,"token_ids":null}}"#,
            ending.reason()
        );
        let usage = self.running(generation.usage(1, generation.steps()));
        self.event(&said, &format!("{usage}{}", ending.fingerprint(self.usage)))
    }

    /// The ids of the tokens of some steps, where the request wants them.
    fn ids(&self, generation: &Generation, choice: u32, steps: std::ops::Range<u32>) -> String {
        if !self.token_ids {
            return "null".to_owned();
        }
        list(steps.flat_map(|step| generation.tokens(choice, step)).map(|token| token.id))
    }

    fn whole_choice(&mut self, generation: &Generation, choice: u32) -> String {
        let steps = 0..generation.steps();
        let mut said = String::new();
        if self.echo {
            said = escape(self.prompt(generation, choice));
        }
        said.extend(steps.clone().map(|step| text(generation, choice, step)));
        let prompt = self.prompt(generation, choice).to_owned();
        let echo = self.echo;
        let logprobs = self.top.map(|top| {
            let column = self.column(choice);
            if echo {
                column.echo(&prompt);
            }
            for step in steps.clone() {
                column.chunk(generation, choice, step, top);
            }
            column.take()
        });
        format!(
            r#"{{"index":{choice},"text":"{said}","logprobs":{},"finish_reason":"{}","stop_reason":null,"token_ids":{},"prompt_logprobs":null,"prompt_token_ids":null,"routed_experts":null}}"#,
            logprobs.as_deref().unwrap_or("null"),
            reason(generation.finish()),
            self.ids(generation, choice, steps),
        )
    }
}

/// The text of a chunk: there is nothing but text at this endpoint.
fn text(generation: &Generation, choice: u32, step: u32) -> String {
    match generation.fragment(choice, step) {
        Fragment::Text(text) | Fragment::Reasoning(text) | Fragment::ToolArguments(text) => text,
        Fragment::ToolOpening { .. } => String::new(),
    }
}

impl Script for Completions {
    fn counts(&self, generation: &Generation) -> Counts {
        let choices = u64::from(generation.ask.choices);
        let usage = u64::from(self.usage != UsageWanted::Never);
        Counts {
            opening: if self.echo { choices } else { 0 },
            steps: choices * u64::from(generation.steps()),
            closing: Ending::events(generation) + usage + 1,
            failure: 2,
        }
    }

    fn opening(&mut self, generation: &Generation) -> Vec<Event> {
        if !self.echo {
            return Vec::new();
        }
        let echoes = (0..generation.ask.choices).map(|choice| self.echo(generation, choice));
        echoes.map(|bytes| Event { due: Due::With(0), bytes }).collect()
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
        let mut body = openai::head(&self.id, "text_completion", &self.model);
        let choices: Vec<String> =
            (0..generation.ask.choices).map(|choice| self.whole_choice(generation, choice)).collect();
        // Writing to a string cannot fail.
        let _ = write!(
            body,
            r#""choices":[{}],"service_tier":null,{},{},"kv_transfer_params":null,"ec_transfer_params":null,"metrics":null}}"#,
            choices.join(","),
            fingerprint(),
            openai::whole_usage(generation.total_usage()),
        );
        Bytes::from(body)
    }
}
