//! Text Generation Inference: `/generate`, `/generate_stream`, and `/`, which is either.

use bytes::Bytes;
use serde_json::{Value, json};

use super::script::{Counts, Request, Script};
use crate::engine::ask::{Ask, Prompt, Terms, Wish};
use crate::engine::events::Event;
use crate::engine::fields::{Fields, json as parse};
use crate::engine::generation::{Finish, Generation, Token, escape, word_id};
use crate::engine::refusal::{Refusal, SIMULATED};

/// The endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// An answer in one piece.
    Generate,
    /// A stream.
    Stream,
    /// Whichever the request's `stream` says.
    Either,
}

/// How one answer is written.
#[derive(Debug)]
pub(crate) struct Tgi {
    /// An answer in one piece stands in a list at `/`.
    listed: bool,
    details: bool,
    prefill: bool,
    /// The prompt, where the text is to begin with it.
    full_text: bool,
}

/// Reads a request.
pub(crate) fn read(body: &[u8], endpoint: Endpoint, terms: &Terms<'_>) -> Result<Request, Refusal> {
    let body = parse(body)?;
    let fields = Fields::of(&body)?;
    let parameters = fields.inner("parameters")?;
    parameters.check_temperature()?;
    let wish = Wish {
        stream: match endpoint {
            Endpoint::Generate => false,
            Endpoint::Stream => true,
            Endpoint::Either => fields.flag("stream")?,
        },
        prompts: vec![Prompt::of(fields.needed("inputs")?)],
        limit: parameters.tokens("max_new_tokens")?,
        seed: parameters.integer("seed")?,
        ..Wish::default()
    };
    let script = Tgi {
        listed: endpoint == Endpoint::Either,
        details: parameters.flag("details")?,
        prefill: parameters.flag("decoder_input_details")?,
        full_text: parameters.flag("return_full_text")?,
    };
    Ok(Request { ask: Ask::settle(wish, terms)?, script: Box::new(script) })
}

fn reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Length => "length",
        Finish::Stop | Finish::ToolCalls => "eos_token",
    }
}

fn token(token: &Token) -> String {
    format!(r#"{{"id":{},"text":"{}","logprob":{},"special":false}}"#, token.id, token.literal, token.logprob)
}

impl Tgi {
    fn text(&self, generation: &Generation) -> String {
        let text = generation.said(0).text;
        if self.full_text { format!("{}{text}", escape(generation.ask.prompt())) } else { text }
    }

    fn details(&self, generation: &Generation) -> String {
        let tokens: Vec<String> = (0..generation.steps())
            .flat_map(|step| generation.tokens(0, step))
            .map(|one| token(&one))
            .collect();
        let words = generation.ask.prompt().split_whitespace();
        let prefill: Vec<Value> = words
            .filter(|_| self.prefill)
            .map(|word| json!({"id": word_id(word), "text": word, "logprob": null}))
            .collect();
        format!(
            r#"{{"finish_reason":"{}","generated_tokens":{},"seed":{},"prefill":{},"tokens":[{}]}}"#,
            reason(generation.finish()),
            generation.ask.tokens,
            seed(generation),
            Value::from(prefill),
            tokens.join(",")
        )
    }

    /// The members of a stream's last event.
    fn end(&self, generation: &Generation) -> String {
        format!(
            r#""generated_text":"{}","details":{{"finish_reason":"{}","generated_tokens":{},"seed":{},"input_length":{}}}"#,
            self.text(generation),
            reason(generation.finish()),
            generation.ask.tokens,
            seed(generation),
            generation.ask.prompt_tokens()
        )
    }
}

fn seed(generation: &Generation) -> Value {
    Value::from(generation.ask.seed)
}

impl Script for Tgi {
    fn media(&self) -> &'static str {
        "text/event-stream"
    }

    fn counts(&self, generation: &Generation) -> Counts {
        Counts { opening: 0, steps: u64::from(generation.ask.tokens), closing: 0, failure: 1 }
    }

    fn opening(&mut self, _: &Generation) -> Vec<Event> {
        Vec::new()
    }

    /// Each token is an event of its own, and the last one ends the stream.
    fn step(&mut self, generation: &Generation, step: u32) -> Vec<Bytes> {
        let first = generation.tokens_after(step);
        let numbered = (first..).zip(generation.tokens(0, step));
        numbered
            .map(|(number, one)| {
                let end = if number + 1 == generation.ask.tokens {
                    self.end(generation)
                } else {
                    r#""generated_text":null,"details":null"#.to_owned()
                };
                // Without a space, as TGI has it.
                Bytes::from(format!("data:{{\"index\":{},\"token\":{},{end}}}\n\n", number + 1, token(&one)))
            })
            .collect()
    }

    fn closing(&mut self, _: &Generation) -> Vec<Bytes> {
        Vec::new()
    }

    fn failure(&self, _: &Generation, _: u64) -> Vec<Bytes> {
        let json = format!(r#"{{"error":"{SIMULATED}","error_type":"generation"}}"#);
        vec![Bytes::from(format!("data:{json}\n\n"))]
    }

    fn whole(&mut self, generation: &Generation) -> Bytes {
        let details =
            if self.details { format!(r#","details":{}"#, self.details(generation)) } else { String::new() };
        let answer = format!(r#"{{"generated_text":"{}"{details}}}"#, self.text(generation));
        Bytes::from(if self.listed { format!("[{answer}]") } else { answer })
    }
}

/// What `/info` says.
pub(crate) fn info(model: &str, context: u64) -> Value {
    json!({
        "model_id": model,
        "model_sha": null,
        "model_pipeline_tag": "text-generation",
        "max_concurrent_requests": 128,
        "max_best_of": 2,
        "max_stop_sequences": 4,
        "max_input_tokens": context.saturating_sub(1),
        "max_total_tokens": context,
        "validation_workers": 2,
        "max_client_batch_size": 4,
        "router": "sim",
        "version": env!("CARGO_PKG_VERSION"),
        "sha": null,
        "docker_label": null,
    })
}
