//! OpenAI's text completions.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::chat::ending;
use super::fields::{Count, Text, error_text, or_default};
use super::reader::{Output, Piece};
use super::told::{Server, Timings, Told, WireUsage};

/// An event of a stream, or a whole answer: both have the same form.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default, deserialize_with = "or_default")]
    choices: Vec<Choice<'a>>,
    usage: Option<WireUsage>,
    timings: Option<Timings>,
    metrics: Option<Server>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    text: Text<'a>,
    #[serde(borrow, default)]
    finish_reason: Text<'a>,
    #[serde(default, deserialize_with = "or_default")]
    logprobs: Logprobs,
    #[serde(default)]
    token_ids: Count,
}

#[derive(Default, Deserialize)]
struct Logprobs {
    #[serde(default)]
    tokens: Count,
}

impl Choice<'_> {
    fn tokens(&self) -> Option<u32> {
        self.token_ids.0.or(self.logprobs.tokens.0).filter(|tokens| *tokens > 0)
    }
}

/// Reads an event of a stream.
pub(super) fn event(data: &str, told: &mut Told) -> serde_json::Result<Piece> {
    let event: Event<'_> = serde_json::from_str(data)?;
    // `vllm bench serve` takes any choice for a token, even one without text.
    let mut piece = Piece { is_vllm_token: !event.choices.is_empty(), ..Piece::default() };
    for choice in &event.choices {
        let tokens = choice.tokens();
        if !choice.text.0.is_empty() || tokens.is_some() {
            piece.output = Some(Output::Content);
            piece.tokens = tokens.map(|tokens| tokens + piece.tokens.unwrap_or(0)).or(piece.tokens);
        }
    }
    rest(&event, piece.is_vllm_token, told);
    Ok(piece)
}

/// Reads an answer that is no stream.
pub(super) fn whole(body: &str, told: &mut Told) -> serde_json::Result<()> {
    rest(&serde_json::from_str(body)?, false, told);
    Ok(())
}

fn rest(event: &Event<'_>, is_vllm_token: bool, told: &mut Told) {
    for choice in &event.choices {
        told.keep(&choice.text.0);
        if !choice.finish_reason.0.is_empty() {
            told.finish = Some(choice.finish_reason.0.clone().into_owned());
        }
    }
    ending(event.usage.as_ref(), event.timings, is_vllm_token, told);
    if let Some(metrics) = event.metrics {
        told.server = metrics;
    }
    told.fail(error_text(event.error));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_without_text_is_a_token_for_vllm_alone() {
        let mut told = Told { text: Some(String::new()), ..Told::default() };
        let full = event(r#"{"choices":[{"index":0,"text":" a","finish_reason":null}]}"#, &mut told).unwrap();
        assert_eq!((full.output, full.is_vllm_token), (Some(Output::Content), true));
        let last = event(r#"{"choices":[{"index":0,"text":"","finish_reason":"stop"}]}"#, &mut told).unwrap();
        assert_eq!((last.output, last.is_vllm_token), (None, true));
        let usage = event(r#"{"choices":[],"usage":{"prompt_tokens":2,"completion_tokens":1}}"#, &mut told);
        assert_eq!(usage.unwrap(), Piece::default());
        assert_eq!((told.vllm_output, told.finish.as_deref()), (Some(1), Some("stop")));
        assert_eq!(told.text.as_deref(), Some(" a"));
    }

    #[test]
    fn log_probabilities_and_ids_tell_the_tokens() {
        let mut told = Told::default();
        let data = r#"{"choices":[{"text":"ab","logprobs":{"tokens":["a","b"],"token_logprobs":[0,0]}}]}"#;
        assert_eq!(event(data, &mut told).unwrap().tokens, Some(2));
        let data = r#"{"choices":[{"text":"","token_ids":[7]}]}"#;
        let piece = event(data, &mut told).unwrap();
        assert_eq!((piece.output, piece.tokens), (Some(Output::Content), Some(1)));
    }

    #[test]
    fn a_whole_answer_is_read() {
        let mut told = Told { text: Some(String::new()), ..Told::default() };
        whole(
            r#"{"choices":[{"text":"hi","finish_reason":"length"}],"usage":{"completion_tokens":4}}"#,
            &mut told,
        )
        .unwrap();
        assert_eq!((told.text.as_deref(), told.vllm_output), (Some("hi"), Some(4)));
    }
}
