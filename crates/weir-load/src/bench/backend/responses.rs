//! OpenAI's responses.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::fields::{Text, error_text, or_default};
use super::reader::{Output, Piece};
use super::told::{Told, WireUsage};

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Text<'a>,
    #[serde(borrow, default)]
    delta: Text<'a>,
    #[serde(borrow)]
    response: Option<Response<'a>>,
    #[serde(borrow)]
    message: Option<Text<'a>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow, default)]
    status: Text<'a>,
    usage: Option<WireUsage>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    incomplete_details: Incomplete<'a>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    output: Vec<Item<'a>>,
}

#[derive(Default, Deserialize)]
struct Incomplete<'a> {
    #[serde(borrow, default)]
    reason: Text<'a>,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Text<'a>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    content: Vec<Part<'a>>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Text<'a>,
}

/// Reads an event of a stream. Its `event:` line says the same as its `type`.
pub(super) fn event(data: &str, told: &mut Told) -> serde_json::Result<Piece> {
    let event: Event<'_> = serde_json::from_str(data)?;
    let kind = &*event.kind.0;
    match kind {
        "response.completed" | "response.incomplete" | "response.failed" => {
            told.is_terminal = true;
            if let Some(response) = &event.response {
                end(response, told);
            }
            if kind == "response.failed" {
                told.fail(Some("response.failed".to_owned()));
            }
        }
        "error" => told.fail(event.message.map(|message| message.0.into_owned())),
        _ => {}
    }
    told.fail(error_text(event.error));
    let output = output(kind).filter(|_| !event.delta.0.is_empty());
    if output == Some(Output::Content) {
        told.keep(&event.delta.0);
    }
    let is_vllm_token = matches!(kind, "response.output_text.delta" | "response.reasoning_text.delta");
    Ok(Piece { output, is_vllm_token, tokens: None })
}

/// Reads an answer that is no stream.
pub(super) fn whole(body: &str, told: &mut Told) -> serde_json::Result<()> {
    let response: Response<'_> = serde_json::from_str(body)?;
    for item in response.output.iter().filter(|item| item.kind.0 == "message") {
        for part in &item.content {
            told.keep(&part.text.0);
        }
    }
    end(&response, told);
    Ok(())
}

/// The kind of output that events of this type carry.
fn output(kind: &str) -> Option<Output> {
    let what = kind.strip_suffix(".delta")?.strip_prefix("response.")?;
    Some(match what {
        "output_text" => Output::Content,
        "reasoning_text" | "reasoning_summary_text" => Output::Reasoning,
        "refusal" | "audio" | "audio.transcript" => Output::Other,
        _ => Output::Tool,
    })
}

fn end(response: &Response<'_>, told: &mut Told) {
    if let Some(usage) = response.usage.as_ref().map(WireUsage::inclusive) {
        told.usage.update(usage);
        told.vllm_output = usage.output.or(told.vllm_output);
    }
    let reason = &response.incomplete_details.reason.0;
    let finish = if reason.is_empty() { &response.status.0 } else { reason };
    if !finish.is_empty() {
        told.finish = Some(finish.clone().into_owned());
    }
    told.fail(error_text(response.error));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deltas_are_output() {
        let mut told = Told { text: Some(String::new()), ..Told::default() };
        for (kind, output, vllm) in [
            ("response.output_text.delta", Some(Output::Content), true),
            ("response.reasoning_text.delta", Some(Output::Reasoning), true),
            ("response.reasoning_summary_text.delta", Some(Output::Reasoning), false),
            ("response.function_call_arguments.delta", Some(Output::Tool), false),
            ("response.refusal.delta", Some(Output::Other), false),
            ("response.output_text.done", None, false),
        ] {
            let data = format!(r#"{{"type":"{kind}","sequence_number":1,"delta":"x"}}"#);
            let piece = event(&data, &mut told).unwrap();
            assert_eq!((piece.output, piece.is_vllm_token), (output, vllm), "{kind}");
        }
        assert_eq!(told.text.as_deref(), Some("x"));
    }

    #[test]
    fn the_end_tells_usage_and_reason() {
        let mut told = Told::default();
        let created =
            r#"{"type":"response.created","response":{"status":"in_progress","usage":null,"output":[]}}"#;
        event(created, &mut told).unwrap();
        assert!(!told.is_terminal);
        let data = r#"{"type":"response.incomplete","response":{"status":"incomplete","error":null,
            "incomplete_details":{"reason":"max_output_tokens"},
            "usage":{"input_tokens":3,"output_tokens":4,"output_tokens_details":{"reasoning_tokens":1}}}}"#;
        event(data, &mut told).unwrap();
        assert!(told.is_terminal);
        assert_eq!(told.finish.as_deref(), Some("max_output_tokens"));
        assert_eq!((told.usage.reasoning, told.vllm_output, told.error), (Some(1), Some(4), None));
    }

    #[test]
    fn failures_are_errors() {
        let mut told = Told::default();
        event(r#"{"type":"error","code":"server_error","message":"boom","param":null}"#, &mut told).unwrap();
        assert_eq!(told.error.as_deref(), Some("boom"));
        let mut told = Told::default();
        let data = r#"{"type":"response.failed","response":{"status":"failed","error":{"message":"gone"}}}"#;
        event(data, &mut told).unwrap();
        assert_eq!(told.error.as_deref(), Some("gone"));
    }

    #[test]
    fn a_whole_answer_is_read() {
        let mut told = Told { text: Some(String::new()), ..Told::default() };
        let body = r#"{"status":"completed","output":[{"type":"reasoning","content":[{"text":"hm"}]},
            {"type":"message","content":[{"type":"output_text","text":"hi"}]}],"usage":{"output_tokens":2}}"#;
        whole(body, &mut told).unwrap();
        assert_eq!((told.text.as_deref(), told.usage.output), (Some("hi"), Some(2)));
    }
}
