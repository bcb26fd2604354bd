//! A stream like that of a common engine, in events of about 240 bytes.

#![allow(dead_code, reason = "each bench uses a part")]

/// The event that carries the `n`th token.
pub(crate) fn token_event(n: usize) -> Vec<u8> {
    format!(
        "data: {{\"id\":\"chatcmpl-3f1c9a7be2d84c55\",\"object\":\"chat.completion.chunk\",\"created\":1764547200,\
         \"model\":\"meta/llama-3.1-8b\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\" word{n}\"}},\
         \"logprobs\":null,\"finish_reason\":null}}]}}\n\n"
    )
    .into_bytes()
}

/// A whole stream of `tokens` tokens, one event an element.
pub(crate) fn stream(tokens: usize) -> Vec<Vec<u8>> {
    let role = String::from_utf8_lossy(&token_event(0))
        .replace("\"content\":\" word0\"", "\"role\":\"assistant\",\"content\":\"\"");
    let finish = String::from_utf8_lossy(&token_event(0))
        .replace("\"content\":\" word0\"", "")
        .replace("\"finish_reason\":null", "\"finish_reason\":\"stop\"");
    let mut events = vec![role.into_bytes()];
    events.extend((0..tokens).map(token_event));
    events.push(finish.into_bytes());
    events.push(b"data: [DONE]\n\n".to_vec());
    events
}

/// A draft whose stream has begun.
pub(crate) fn draft() -> weir_core::draft::Draft {
    use std::sync::Arc;

    use weir_core::dialect::{Dialect, RequestPeek};
    use weir_core::draft::{Draft, Opening, Watch};
    use weir_core::exchange::{Caller, ExchangeId, HttpVersion, WallTime};
    use weir_core::inflight::Inflight;
    use weir_core::reader::{ResponseHead, TokenRule};
    use weir_core::timeline::{Offset, Stamp};

    let inflight = Arc::new(Inflight::new(16));
    let opening = Opening {
        id: ExchangeId(1),
        request_id: "bench".into(),
        trace: None,
        received: WallTime(1),
        received_mono: Stamp(0),
        method: "POST".into(),
        http: HttpVersion::Http11,
        caller: Caller::default(),
        path: "/v1/chat/completions".into(),
        dialect: Dialect::Chat,
        upstream: "default".into(),
    };
    let live = inflight.enter(ExchangeId(1), Stamp(0), Dialect::Chat);
    let watch =
        Watch { stall_after: Offset(1_000_000_000), keep_all_gaps: false, token_rule: TokenRule::Weir };
    let mut draft = Draft::open(opening, live, &watch);
    draft.peeked(RequestPeek::default(), Offset(0));
    let head = ResponseHead { status: 200, content_type: Some(b"text/event-stream"), content_encoding: None };
    draft.answered(&head, Stamp(1000));
    draft
}
