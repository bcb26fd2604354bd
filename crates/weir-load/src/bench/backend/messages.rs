//! Anthropic's messages. `vllm bench serve` does not know them: its rule is Weir's here.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::fields::{Text, error_text, or_default};
use super::reader::{Output, Piece};
use super::told::{Told, WireUsage};

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Text<'a>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    delta: Delta<'a>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
    usage: Option<WireUsage>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    text: Text<'a>,
    #[serde(borrow, default)]
    thinking: Text<'a>,
    #[serde(borrow, default)]
    partial_json: Text<'a>,
    #[serde(borrow, default)]
    stop_reason: Text<'a>,
}

/// A message as it begins, or a whole answer.
#[derive(Deserialize)]
struct Message<'a> {
    usage: Option<WireUsage>,
    #[serde(borrow, default)]
    stop_reason: Text<'a>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    content: Vec<Block<'a>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, default)]
    text: Text<'a>,
}

/// Reads an event of a stream.
pub(super) fn event(data: &str, told: &mut Told) -> serde_json::Result<Piece> {
    let event: Event<'_> = serde_json::from_str(data)?;
    let mut piece = Piece::default();
    match &*event.kind.0 {
        "message_start" => {
            // Its count of output is a beginning, not a result.
            if let Some(usage) = event.message.and_then(|message| message.usage) {
                let usage = usage.additive();
                told.usage.update(super::Usage { output: None, ..usage });
            }
        }
        "content_block_delta" => {
            piece.output = output(&event.delta);
            piece.is_vllm_token = piece.output.is_some();
            told.keep(&event.delta.text.0);
        }
        "message_delta" => {
            if let Some(usage) = event.usage {
                amend(&usage, told);
            }
            finish(&event.delta.stop_reason, told);
        }
        "message_stop" => told.is_terminal = true,
        _ => {}
    }
    told.fail(error_text(event.error));
    Ok(piece)
}

/// Reads an answer that is no stream.
pub(super) fn whole(body: &str, told: &mut Told) -> serde_json::Result<()> {
    let message: Message<'_> = serde_json::from_str(body)?;
    for block in &message.content {
        told.keep(&block.text.0);
    }
    if let Some(usage) = &message.usage {
        amend(usage, told);
    }
    finish(&message.stop_reason, told);
    told.fail(error_text(message.error));
    Ok(())
}

fn output(delta: &Delta<'_>) -> Option<Output> {
    if !delta.text.0.is_empty() {
        Some(Output::Content)
    } else if !delta.thinking.0.is_empty() {
        Some(Output::Reasoning)
    } else if !delta.partial_json.0.is_empty() {
        Some(Output::Tool)
    } else {
        None
    }
}

/// Counts are cumulative. Where the later ones tell less of the prompt than the first, those stay.
fn amend(usage: &WireUsage, told: &mut Told) {
    let usage = usage.additive();
    let input = usage.input.filter(|input| told.usage.input.is_none_or(|before| *input >= before));
    told.usage.update(super::Usage { input, ..usage });
    told.vllm_output = usage.output.or(told.vllm_output);
}

fn finish(reason: &Text<'_>, told: &mut Told) {
    if !reason.0.is_empty() {
        told.finish = Some(reason.0.clone().into_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_read() {
        let mut told = Told { text: Some(String::new()), ..Told::default() };
        let mut outputs = Vec::new();
        for data in [
            r#"{"type":"message_start","message":{"usage":{"input_tokens":5,"cache_read_input_tokens":3,"output_tokens":1},"content":[],"stop_reason":null}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"ping"}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s"}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"hi"}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{"}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}"#,
        ] {
            outputs.extend(event(data, &mut told).unwrap().output);
        }
        assert_eq!(outputs, [Output::Reasoning, Output::Content, Output::Tool]);
        assert!(!told.is_terminal);
        event(r#"{"type":"message_stop"}"#, &mut told).unwrap();
        assert!(told.is_terminal);
        assert_eq!((told.usage.input, told.usage.cached, told.usage.output), (Some(8), Some(3), Some(9)));
        assert_eq!((told.text.as_deref(), told.finish.as_deref()), (Some("hi"), Some("end_turn")));
    }

    #[test]
    fn an_error_is_read() {
        let mut told = Told::default();
        let data = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
        event(data, &mut told).unwrap();
        assert_eq!(told.error.as_deref(), Some("Overloaded"));
    }

    #[test]
    fn a_whole_answer_is_read() {
        let mut told = Told { text: Some(String::new()), ..Told::default() };
        let body = r#"{"type":"message","content":[{"type":"text","text":"hi"}],"stop_reason":"max_tokens",
            "usage":{"input_tokens":2,"output_tokens":3}}"#;
        whole(body, &mut told).unwrap();
        assert_eq!((told.usage.input, told.usage.output, told.vllm_output), (Some(2), Some(3), Some(3)));
    }
}
