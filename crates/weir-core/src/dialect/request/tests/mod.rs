mod bodies;
mod forms;
mod noise;
mod settings;

use super::{Prompts, RequestHead, RequestPeek};
use crate::dialect::Dialect;
use crate::exchange::Caller;

fn head<'a>(path: &'a str, content_type: &'a str) -> RequestHead<'a> {
    RequestHead { dialect: Dialect::of("POST", path), path, content_type: Some(content_type.as_bytes()) }
}

/// Reads a body whole and in pieces, which must come to the same.
fn scan(head: &RequestHead<'_>, body: &[u8]) -> RequestPeek {
    let whole = RequestPeek::scan(head, std::iter::once(body));
    for size in [1, 3, 17] {
        assert_eq!(RequestPeek::scan(head, body.chunks(size)), whole, "by {size}");
    }
    whole
}

fn peek(path: &str, body: &str) -> RequestPeek {
    scan(&head(path, "application/json"), body.as_bytes())
}
