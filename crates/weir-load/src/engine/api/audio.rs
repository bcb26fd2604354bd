//! Speech to text: the words are made up, and only the length of the audio counts.

use bytes::Bytes;

use super::openai::{self, DONE, ERROR, model_of};
use super::script::{Counts, Request, Script, data};
use crate::engine::ask::{Ask, Prompt, Terms, Wish, count_tokens};
use crate::engine::events::Event;
use crate::engine::form::Form;
use crate::engine::generation::{Fragment, Generation, plain, quote};
use crate::engine::refusal::Refusal;

/// Bytes of a second of audio, as if all of it were 16-bit samples at 16 kHz.
const BYTES_PER_SECOND: u64 = 32_000;

/// Tokens of a second of audio.
const TOKENS_PER_SECOND: u64 = 10;

/// The endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Transcription,
    Translation,
}

/// How one answer is written.
#[derive(Debug)]
pub(crate) struct Audio {
    task: Task,
    id: String,
    model: String,
    seconds: u64,
    form: Shape,
    /// vLLM's events: chunks as those of a chat, and whether usage is on each of them.
    chunks: Option<bool>,
}

/// The form of an answer in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Json,
    Verbose,
    Text,
}

/// Reads a request.
pub(crate) fn read(
    content_type: &str,
    body: &[u8],
    task: Task,
    terms: &Terms<'_>,
) -> Result<Request, Refusal> {
    let form = Form::parse(content_type, body)?;
    let bytes = form.file("file")?;
    let text = form.text("prompt").unwrap_or_default().to_owned();
    let audio = (bytes * TOKENS_PER_SECOND).div_ceil(BYTES_PER_SECOND);
    let number = |name: &str| match form.text(name) {
        None => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|_| {
            Refusal::of_field("int_parsing", &format!("body.{name}"), "Input should be a valid integer")
        }),
    };
    let limit: Option<u32> = number("max_completion_tokens")?;
    let wish = Wish {
        model: form.text("model").map(str::to_owned),
        stream: form.flag("stream"),
        prompts: vec![Prompt { tokens: count_tokens(&text) + audio, text }],
        limit: limit.map(|limit| limit.max(1)),
        ..Wish::default()
    };
    let script = Audio {
        task,
        id: terms.id.to_owned(),
        model: model_of(&wish, terms).to_owned(),
        seconds: bytes.div_ceil(BYTES_PER_SECOND),
        form: match form.text("response_format") {
            Some("text" | "srt" | "vtt") => Shape::Text,
            Some("verbose_json") => Shape::Verbose,
            _ => Shape::Json,
        },
        // Who asks in vLLM's way gets vLLM's events.
        chunks: form.flag("stream_include_usage").then(|| form.flag("stream_continuous_usage_stats")),
    };
    Ok(Request { ask: Ask::settle(wish, terms)?, script: Box::new(script) })
}

impl Audio {
    fn chunk(&self, choices: &str, rest: &str) -> Bytes {
        let (prefix, object) = match self.task {
            Task::Transcription => ("transcribe", "transcription.chunk"),
            Task::Translation => ("translate", "translation.chunk"),
        };
        let head = openai::head(&format!("{prefix}-{}", self.id), object, &self.model);
        data(&format!("{head}\"choices\":[{choices}]{rest}}}"))
    }

    fn running(&self, generation: &Generation, steps: u32) -> String {
        match self.chunks {
            Some(true) => format!(",{}", openai::usage(generation.usage(1, steps))),
            _ => String::new(),
        }
    }

    /// Usage as OpenAI counts it where audio is billed by tokens.
    fn token_usage(&self, generation: &Generation) -> String {
        let usage = generation.total_usage();
        let text = count_tokens(generation.ask.prompt());
        format!(
            r#"{{"type":"tokens","input_tokens":{},"input_token_details":{{"text_tokens":{text},"audio_tokens":{}}},"output_tokens":{},"total_tokens":{}}}"#,
            usage.prompt,
            usage.prompt.saturating_sub(text),
            usage.completion,
            usage.prompt + usage.completion
        )
    }
}

fn text(generation: &Generation, step: u32) -> String {
    match generation.fragment(0, step) {
        Fragment::Text(text) | Fragment::Reasoning(text) | Fragment::ToolArguments(text) => text,
        Fragment::ToolOpening { .. } => String::new(),
    }
}

impl Script for Audio {
    fn whole_media(&self) -> &'static str {
        match self.form {
            Shape::Text => "text/plain; charset=utf-8",
            Shape::Json | Shape::Verbose => "application/json",
        }
    }

    fn counts(&self, generation: &Generation) -> Counts {
        // vLLM's: the finish, the usage and `[DONE]`. OpenAI's: the whole text with usage.
        let closing = if self.chunks.is_some() { 3 } else { 1 };
        let failure = if self.chunks.is_some() { 2 } else { 1 };
        Counts { opening: 0, steps: u64::from(generation.steps()), closing, failure }
    }

    fn opening(&mut self, _: &Generation) -> Vec<Event> {
        Vec::new()
    }

    fn step(&mut self, generation: &Generation, step: u32) -> Vec<Bytes> {
        let text = text(generation, step);
        let event = if self.chunks.is_some() {
            self.chunk(&format!(r#"{{"delta":{{"content":"{text}"}}}}"#), &self.running(generation, step + 1))
        } else {
            data(&format!(r#"{{"type":"transcript.text.delta","delta":"{text}"}}"#))
        };
        vec![event]
    }

    fn closing(&mut self, generation: &Generation) -> Vec<Bytes> {
        if self.chunks.is_none() {
            let text = generation.said(0).text;
            let usage = self.token_usage(generation);
            return vec![data(&format!(
                r#"{{"type":"transcript.text.done","text":"{text}","usage":{usage}}}"#
            ))];
        }
        let finish = format!(
            r#"{{"delta":{{"content":""}},"finish_reason":"{}","stop_reason":null}}"#,
            openai::reason(generation.finish())
        );
        vec![
            self.chunk(&finish, &self.running(generation, generation.steps())),
            self.chunk("", &format!(",{}", openai::usage(generation.total_usage()))),
            Bytes::from_static(DONE.as_bytes()),
        ]
    }

    fn failure(&self, _: &Generation, _: u64) -> Vec<Bytes> {
        let mut events = vec![Bytes::from_static(ERROR.as_bytes())];
        if self.chunks.is_some() {
            events.push(Bytes::from_static(DONE.as_bytes()));
        }
        events
    }

    fn whole(&mut self, generation: &Generation) -> Bytes {
        let text = generation.said(0).text;
        let seconds = self.seconds;
        Bytes::from(match (self.form, self.task) {
            (Shape::Text, _) => format!("{}\n", plain(&text)),
            (Shape::Verbose, _) => format!(
                r#"{{"task":{},"language":"en","duration":{seconds}.0,"text":"{text}","segments":[{{"id":0,"seek":0,"start":0.0,"end":{seconds}.0,"text":"{text}","tokens":[],"temperature":0.0,"avg_logprob":-0.5,"compression_ratio":1.0,"no_speech_prob":0.0}}]}}"#,
                quote(if self.task == Task::Translation { "translate" } else { "transcribe" })
            ),
            (Shape::Json, Task::Transcription) => {
                format!(r#"{{"text":"{text}","usage":{{"type":"duration","seconds":{seconds}}}}}"#)
            }
            (Shape::Json, Task::Translation) => format!(r#"{{"text":"{text}"}}"#),
        })
    }
}
