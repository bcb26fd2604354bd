//! Exchanges for unit tests.

use weir_core::dialect::Dialect;
use weir_core::exchange::{
    Answer, Asked, Caller, Exchange, ExchangeId, HttpVersion, Output, TokenCount, WallTime,
};
use weir_core::gaps::GapCell;
use weir_core::outcome::Outcome;
use weir_core::timeline::{Mark, Offset, Stamp, Timeline};
use weir_core::usage::{Provenance, Usage};

pub(crate) const MS: u64 = 1_000_000;

/// A completed stream of the model `m`: handed on after 1 ms, a first token at `first_ms`, and a chunk of
/// one token after each of the gaps.
pub(crate) fn stream(first_ms: u64, gaps_ms: &[u64]) -> Exchange {
    let cell = GapCell::default();
    gaps_ms.iter().for_each(|gap| cell.add(gap * MS, 1));
    let last = first_ms + gaps_ms.iter().sum::<u64>();
    let mut timeline = Timeline::default();
    for (mark, at) in [
        (Mark::Queued, 0),
        (Mark::Admitted, 1),
        (Mark::Connected, 1),
        (Mark::Dispatched, 1),
        (Mark::ResponseHead, first_ms),
        (Mark::FirstByte, first_ms),
        (Mark::FirstEvent, first_ms),
        (Mark::FirstToken, first_ms),
        (Mark::LastToken, last),
        (Mark::Terminal, last),
        (Mark::Ended, last + 1),
    ] {
        timeline.set(mark, Offset(at * MS));
    }
    let tokens = gaps_ms.len() as u64 + 1;
    Exchange {
        id: ExchangeId(1),
        request_id: "r".into(),
        trace: None,
        received: WallTime(0),
        received_mono: Stamp(0),
        request: Asked {
            method: "POST".into(),
            http: HttpVersion::Http11,
            path: "/v1/chat/completions".into(),
            dialect: Dialect::Chat,
            model: Some("m".into()),
            stream: true,
            choices: 1,
            bytes: 100,
            settings: Box::default(),
            prompt_hash: None,
            caller: Caller::default(),
        },
        upstream: "default".into(),
        status: Some(200),
        outcome: Outcome::Completed,
        error_type: None,
        timeline,
        body_wait: Offset(0),
        answer: Answer {
            bytes: 1_000,
            stream: true,
            finish_reasons: vec!["stop".into()],
            usage: Some(Usage { input: Some(10), output: Some(tokens), ..Usage::default() }),
            tokens: Some(TokenCount { count: tokens, provenance: Provenance::Reported }),
            output: Some(Output { chunks: tokens, tokens, gaps: cell.read(), ..Output::default() }),
            ..Answer::default()
        },
        content: None,
    }
}
