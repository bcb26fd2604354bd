//! What is taken from a request body does not depend on how it is cut, and is what a full parser takes.
//!
//! Input: two digits (request path, content type), the seed of the cuts (two bytes), the body.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value};
use weir_core::dialect::{Dialect, RequestHead, RequestPeek};
use weir_fuzz::{Cuts, PATHS, option};

/// Forms have the boundary `b` in seeds.
const CONTENT_TYPES: [Option<&[u8]>; 3] =
    [Some(b"application/json"), Some(b"multipart/form-data; boundary=b"), None];

/// Names longer than this are taken for absent.
const MODEL_LIMIT: usize = 256;

fuzz_target!(|input: &[u8]| {
    let Some((&[path, content_type], input)) = input.split_first_chunk() else { return };
    let Some((cuts, body)) = Cuts::take(input) else { return };

    let path = PATHS[option(path) % PATHS.len()];
    let content_type = CONTENT_TYPES[option(content_type) % CONTENT_TYPES.len()];
    let head = RequestHead { dialect: Dialect::of("POST", path), path, content_type };
    let peek = RequestPeek::scan(&head, std::iter::once(body));
    assert_eq!(RequestPeek::scan(&head, cuts.cut(body)), peek);
    assert_eq!(RequestPeek::scan(&head, body.chunks(1)), peek);
    assert!(peek.model.as_ref().is_none_or(|model| model.len() <= MODEL_LIMIT));
    assert!(peek.choices >= 1 && peek.all_choices() >= peek.choices);

    if head.dialect == Dialect::Chat
        && content_type == CONTENT_TYPES[0]
        && let Ok(Value::Object(request)) = serde_json::from_slice(body)
    {
        assert!(peek.complete);
        agrees(&peek, &request);
    }
});

/// Compares with a tree. Of a repeated key both take the last.
fn agrees(peek: &RequestPeek, request: &Map<String, Value>) {
    let is_true = |value: Option<&Value>| value.and_then(Value::as_bool) == Some(true);
    let model = request.get("model").and_then(Value::as_str).filter(|model| model.len() <= MODEL_LIMIT);
    assert_eq!(peek.model.as_deref(), model);
    assert_eq!(peek.stream, is_true(request.get("stream")));
    assert_eq!(peek.echo, is_true(request.get("echo")));
    let options = request.get("stream_options").and_then(Value::as_object);
    assert_eq!(peek.include_usage, options.is_some_and(|options| is_true(options.get("include_usage"))));
    let choices = request.get("n").and_then(Value::as_u64).unwrap_or(1).max(1);
    assert_eq!(peek.choices, u32::try_from(choices).unwrap_or(u32::MAX));
}
