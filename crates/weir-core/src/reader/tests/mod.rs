mod endings;
mod events;
mod messages;
mod modes;
mod native;
mod ollama;
mod responses;
mod short_cuts;
mod token_rule;
mod tokens;
mod told;
mod transcription;
mod vectors;
mod vendors;

use std::num::NonZeroU32;

use super::{Reader, ResponseHead, Seen, TokenRule};
use crate::dialect::{Dialect, Prompts, RequestPeek};
use crate::outcome::ErrorType;
use crate::usage::{Provenance, Usage};

const EVENTS: &str = "text/event-stream; charset=utf-8";

fn head<'a>(status: u16, content_type: &'a str) -> ResponseHead<'a> {
    ResponseHead { status, content_type: Some(content_type.as_bytes()), content_encoding: None }
}

/// Reads a body whole and in pieces, which must come to the same.
fn read_as(
    dialect: Dialect,
    request: &RequestPeek,
    head: &ResponseHead<'_>,
    body: &str,
) -> (Reader, Vec<Seen>) {
    let read = |size: usize| {
        let mut reader = Reader::new(dialect, request, head);
        let mut seen = Vec::new();
        body.as_bytes().chunks(size).for_each(|part| reader.feed(part, &mut |one| seen.push(one)));
        reader.finish(&mut |one| seen.push(one));
        (reader, seen)
    };
    let (whole, seen) = read(body.len().max(1));
    for size in [1, 3, 50] {
        let (cut, cut_seen) = read(size);
        assert_eq!(cut_seen, seen, "by {size}");
        assert_eq!(format!("{:?}", cut.facts()), format!("{:?}", whole.facts()), "by {size}");
    }
    (whole, seen)
}

/// Like [`read_as`], and also cut in two at every place.
fn golden(dialect: Dialect, content_type: &str, body: &str) -> (Reader, Vec<Seen>) {
    let (request, head) = (RequestPeek::default(), head(200, content_type));
    let (whole, seen) = read_as(dialect, &request, &head, body);
    for at in 0..=body.len() {
        let mut reader = Reader::new(dialect, &request, &head);
        let mut cut_seen = Vec::new();
        for part in [&body.as_bytes()[..at], &body.as_bytes()[at..]] {
            reader.feed(part, &mut |one| cut_seen.push(one));
        }
        reader.finish(&mut |one| cut_seen.push(one));
        assert_eq!(cut_seen, seen, "cut at {at}");
        assert_eq!(format!("{:?}", reader.facts()), format!("{:?}", whole.facts()), "cut at {at}");
    }
    (whole, seen)
}

/// An answer that is one document.
fn document(dialect: Dialect, body: &str) -> Reader {
    read_as(dialect, &RequestPeek::default(), &head(200, "application/json"), body).0
}

/// The events of a stream whose type stands in the data and in the event's name.
fn typed(events: &[(&str, &str)]) -> String {
    let event = |&(kind, fields): &(&str, &str)| {
        let comma = if fields.is_empty() { "" } else { "," };
        format!("event: {kind}\ndata: {{\"type\":\"{kind}\"{comma}{fields}}}\n\n")
    };
    events.iter().map(event).collect()
}

fn reasons(reader: &Reader) -> Vec<&str> {
    reader.facts().choices.finish_reasons().collect()
}

/// The code and the type of the error that an answer tells of.
fn said(reader: &Reader) -> (Option<&str>, Option<&str>) {
    let error = reader.facts().error.as_ref().unwrap();
    (error.code.as_deref(), error.kind.as_deref())
}

fn chat(body: &str) -> (Reader, Vec<Seen>) {
    read_as(Dialect::Chat, &RequestPeek::default(), &head(200, EVENTS), body)
}

fn completions(body: &str) -> (Reader, Vec<Seen>) {
    read_as(Dialect::Completions, &RequestPeek::default(), &head(200, EVENTS), body)
}

/// An event with these fields beside the usual ones.
fn event(fields: &str) -> String {
    format!(
        "data: {{\"id\":\"a\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",{fields}}}\n\n"
    )
}

/// A chunk of choice 0.
fn chunk(delta: &str, reason: &str) -> String {
    event(&format!(r#""choices":[{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":{reason}}}]"#))
}

fn token(text: &str) -> String {
    chunk(&format!(r#"{{"content":"{text}"}}"#), "null")
}

fn role() -> String {
    chunk(r#"{"role":"assistant","content":""}"#, "null")
}

fn stop() -> String {
    chunk("{}", "\"stop\"")
}

fn usage(input: u64, output: u64) -> String {
    event(&format!(
        r#""choices":[],"usage":{{"prompt_tokens":{input},"completion_tokens":{output},"total_tokens":{}}}"#,
        input + output
    ))
}

const DONE: &str = "data: [DONE]\n\n";

fn output(tokens: u32, answer: bool) -> Seen {
    Seen::Output { tokens: NonZeroU32::new(tokens), answer }
}
