//! OpenAI's chat completions.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::fields::{Count, Present, Text, Truthy, error_text, or_default};
use super::reader::{Output, Piece};
use super::told::{Server, Timings, Told, WireUsage};

/// An event of a stream, or a whole answer, whose choices have a `message` in the place of a `delta`.
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
    #[serde(borrow, alias = "message", default, deserialize_with = "or_default")]
    delta: Delta<'a>,
    #[serde(borrow, default)]
    finish_reason: Text<'a>,
    #[serde(default, deserialize_with = "or_default")]
    logprobs: Logprobs,
    #[serde(default)]
    token_ids: Count,
}

#[derive(Default, Deserialize)]
struct Delta<'a> {
    #[serde(default)]
    role: Present,
    #[serde(borrow)]
    content: Option<Text<'a>>,
    #[serde(default)]
    reasoning: Truthy,
    #[serde(default)]
    reasoning_content: Truthy,
    #[serde(default)]
    tool_calls: Truthy,
    #[serde(default)]
    function_call: Truthy,
    #[serde(default)]
    refusal: Truthy,
    #[serde(default)]
    audio: Truthy,
}

#[derive(Default, Deserialize)]
struct Logprobs {
    #[serde(default)]
    content: Count,
}

impl Delta<'_> {
    fn content(&self) -> &str {
        self.content.as_ref().map_or("", |content| &content.0)
    }

    /// Output by Weir's rule.
    fn output(&self) -> Option<Output> {
        if !self.content().is_empty() {
            Some(Output::Content)
        } else if self.reasoning.0 || self.reasoning_content.0 {
            Some(Output::Reasoning)
        } else if self.tool_calls.0 || self.function_call.0 {
            Some(Output::Tool)
        } else if self.refusal.0 || self.audio.0 {
            Some(Output::Other)
        } else {
            None
        }
    }

    /// The rule of `vllm bench serve` 0.33. An empty content without a role stands for a special token.
    fn is_vllm_token(&self) -> bool {
        let special = !self.role.0 && self.content.as_ref().is_some_and(|content| content.0.is_empty());
        !self.content().is_empty() || self.reasoning.0 || self.tool_calls.0 || self.function_call.0 || special
    }
}

/// Reads an event of a stream.
pub(super) fn event(data: &str, told: &mut Told) -> serde_json::Result<Piece> {
    let event: Event<'_> = serde_json::from_str(data)?;
    let mut piece = Piece::default();
    for (nth, choice) in event.choices.iter().enumerate() {
        if nth == 0 {
            piece.is_vllm_token = choice.delta.is_vllm_token();
        }
        told.keep(choice.delta.content());
        finish(choice, told);
        if let Some(output) = choice.delta.output() {
            piece.output = piece.output.or(Some(output));
            if let Some(tokens) = choice.token_ids.0.or(choice.logprobs.content.0) {
                piece.tokens = Some(piece.tokens.unwrap_or(0) + tokens).filter(|tokens| *tokens > 0);
            }
        }
    }
    rest(&event, piece.is_vllm_token, told);
    Ok(piece)
}

/// Reads an answer that is no stream.
pub(super) fn whole(body: &str, told: &mut Told) -> serde_json::Result<()> {
    let answer: Event<'_> = serde_json::from_str(body)?;
    for choice in &answer.choices {
        told.keep(choice.delta.content());
        finish(choice, told);
    }
    rest(&answer, false, told);
    Ok(())
}

fn finish(choice: &Choice<'_>, told: &mut Told) {
    let reason = &choice.finish_reason.0;
    if reason == "error" {
        told.fail(Some("finish_reason error".to_owned()));
    }
    if !reason.is_empty() {
        told.finish = Some(reason.clone().into_owned());
    }
}

fn rest(event: &Event<'_>, is_vllm_token: bool, told: &mut Told) {
    ending(event.usage.as_ref(), event.timings, is_vllm_token, told);
    if let Some(metrics) = event.metrics {
        told.server = metrics;
    }
    told.fail(error_text(event.error));
}

/// Usage, wherever it stands. llama.cpp's own counts come in where there is none.
pub(super) fn ending(
    usage: Option<&WireUsage>,
    timings: Option<Timings>,
    is_vllm_token: bool,
    told: &mut Told,
) {
    if let Some(usage) = usage.map(WireUsage::inclusive) {
        told.usage.update(usage);
        told.is_timed = false;
        if !is_vllm_token {
            told.vllm_output = usage.output.or(told.vllm_output);
        }
    } else if let Some(timings) = timings
        && (told.usage.output.is_none() || told.is_timed)
    {
        told.usage.update(timings.usage());
        told.is_timed = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(choice: &str) -> (Piece, Told) {
        let mut told = Told::default();
        let piece = event(&format!(r#"{{"id":"c","choices":[{choice}]}}"#), &mut told).unwrap();
        (piece, told)
    }

    #[test]
    fn each_delta_is_what_the_two_rules_make_of_it() {
        for (delta, output, vllm) in [
            (r#"{"role":"assistant","content":""}"#, None, false),
            (r#"{"role":"assistant","content":null}"#, None, false),
            (r#"{"content":"a"}"#, Some(Output::Content), true),
            (r#"{"role":"assistant","content":"a"}"#, Some(Output::Content), true),
            (r#"{"content":""}"#, None, true),
            (r#"{"role":null,"content":""}"#, None, false),
            (r#"{"reasoning":"a"}"#, Some(Output::Reasoning), true),
            (r#"{"reasoning_content":"a"}"#, Some(Output::Reasoning), false),
            (r#"{"content":null,"reasoning_content":"a"}"#, Some(Output::Reasoning), false),
            (r#"{"tool_calls":[{"index":0}]}"#, Some(Output::Tool), true),
            (r#"{"tool_calls":[]}"#, None, false),
            (r#"{"refusal":"no"}"#, Some(Output::Other), false),
            ("{}", None, false),
        ] {
            let (piece, _) = read(&format!(r#"{{"index":0,"delta":{delta},"finish_reason":null}}"#));
            assert_eq!((piece.output, piece.is_vllm_token), (output, vllm), "{delta}");
        }
    }

    #[test]
    fn tokens_are_counted_where_they_are_told() {
        let (piece, _) = read(r#"{"delta":{"content":"a"},"logprobs":{"content":[{},{}]}}"#);
        assert_eq!(piece.tokens, Some(2));
        let (piece, _) = read(r#"{"delta":{"content":"a"},"token_ids":[1,2,3],"logprobs":null}"#);
        assert_eq!(piece.tokens, Some(3));
        let (piece, _) = read(r#"{"delta":{"content":"a"},"token_ids":null}"#);
        assert_eq!(piece.tokens, None);
    }

    #[test]
    fn usage_counts_for_vllm_where_no_token_is() {
        let mut told = Told::default();
        let usage = r#""usage":{"prompt_tokens":5,"completion_tokens":7}"#;
        event(&format!(r#"{{"choices":[{{"delta":{{"content":"a"}}}}],{usage}}}"#), &mut told).unwrap();
        assert_eq!((told.usage.output, told.vllm_output), (Some(7), None));
        event(&format!(r#"{{"choices":[],{usage}}}"#), &mut told).unwrap();
        assert_eq!((told.usage.input, told.vllm_output), (Some(5), Some(7)));
    }

    #[test]
    fn ends_errors_and_metrics_are_read() {
        let (_, told) = read(r#"{"delta":{},"finish_reason":"length"}"#);
        assert_eq!(told.finish.as_deref(), Some("length"));
        let mut told = Told::default();
        event(r#"{"error":{"message":"boom","code":500}}"#, &mut told).unwrap();
        event(r#"{"error":{"message":"later"}}"#, &mut told).unwrap();
        assert_eq!(told.error.as_deref(), Some("boom"));
        let mut told = Told::default();
        let data = r#"{"choices":[],"metrics":{"queue_time_ms":1.5,"time_to_first_token_ms":20}}"#;
        event(data, &mut told).unwrap();
        let expected = Server { queue_time_ms: Some(1.5), time_to_first_token_ms: Some(20.0) };
        assert_eq!(told.server, expected);
        assert_eq!(told.error, None);
    }

    #[test]
    fn timings_stand_in_for_usage() {
        let mut told = Told::default();
        event(r#"{"choices":[],"timings":{"prompt_n":3,"cache_n":2,"predicted_n":9}}"#, &mut told).unwrap();
        assert_eq!((told.usage.input, told.usage.output, told.is_timed), (Some(5), Some(9), true));
        event(r#"{"choices":[],"usage":{"prompt_tokens":6,"completion_tokens":8}}"#, &mut told).unwrap();
        assert_eq!((told.usage.output, told.is_timed), (Some(8), false));
    }

    #[test]
    fn a_whole_answer_is_read() {
        let mut told = Told { text: Some(String::new()), ..Told::default() };
        let body = r#"{"choices":[{"message":{"role":"assistant","content":"hi \"you\""},"finish_reason":"stop"}],
                       "usage":{"prompt_tokens":1,"completion_tokens":2},"metrics":null,"error":null}"#;
        whole(body, &mut told).unwrap();
        assert_eq!((told.text.as_deref(), told.usage.output), (Some("hi \"you\""), Some(2)));
        assert_eq!((told.finish.as_deref(), told.error), (Some("stop"), None));
    }
}
