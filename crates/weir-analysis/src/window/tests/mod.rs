//! Hand-made examples with known answers.

mod accuracy;
mod bounds;
mod expiry;
mod flow;
mod judged;

use std::time::Duration;

use weir_core::exchange::{Answer, Asked, Exchange, ExchangeId, Output, Pulse, TokenCount};
use weir_core::gaps::GapCell;
use weir_core::observation::Tick;
use weir_core::outcome::Outcome;
use weir_core::timeline::{Mark, Offset, Stamp, Timeline};
use weir_core::usage::{Provenance, Usage};

use super::goodput::Judgement;
use super::{Windows, WindowsConfig};
use crate::fixture::{MS, stream};
use crate::scope::Scope;
use crate::time::Moment;

const MIB: usize = 1 << 20;

/// A moment so many milliseconds after the start, which is on the hour.
fn at(ms: u64) -> Moment {
    Moment(3_600_000_000_000 * 480_000 + ms * MS)
}

fn windows() -> Windows {
    with(64 * MIB, 8)
}

fn with(memory: usize, max_models: usize) -> Windows {
    Windows::new(WindowsConfig { memory, max_models, known_models: vec!["known".into()], started: at(0) })
}

/// One choice, streamed: admitted at once, the first token after `first` ms, the last after `last` ms.
fn exchange(model: &str, first: u64, last: u64, tokens: u64) -> Exchange {
    let mut timeline = Timeline::default();
    for (mark, ms) in [
        (Mark::Queued, 0),
        (Mark::Admitted, 0),
        (Mark::Dispatched, 0),
        (Mark::FirstToken, first),
        (Mark::LastToken, last),
        (Mark::Ended, last),
    ] {
        timeline.set(mark, Offset(ms * MS));
    }
    let stream = stream(first, &[]);
    Exchange {
        timeline,
        request: Asked { model: Some(model.into()), ..stream.request },
        answer: Answer {
            tokens: Some(TokenCount { count: tokens, provenance: Provenance::Reported }),
            usage: Some(Usage { input: Some(7), output: Some(tokens), ..Usage::default() }),
            output: Some(Output { chunks: tokens, tokens, ..Output::default() }),
            ..stream.answer
        },
        ..stream
    }
}

fn failed(model: &str, outcome: Outcome, status: u16) -> Exchange {
    let mut exchange = exchange(model, 1, 1, 1);
    exchange.outcome = outcome;
    exchange.status = Some(status);
    exchange.timeline.forget(Mark::FirstToken);
    exchange.timeline.forget(Mark::LastToken);
    exchange.answer = Answer::default();
    exchange
}

fn pulse(model: &str, gaps_ms: &[u64]) -> Pulse {
    let cell = GapCell::default();
    for gap in gaps_ms {
        cell.add(gap * MS, 1);
    }
    Pulse {
        id: ExchangeId(1),
        at: Stamp(1),
        model: Some(model.into()),
        upstream: Some("default".into()),
        first_token: None,
        chunks: gaps_ms.len() as u64,
        tokens: gaps_ms.len() as u64,
        gaps: cell.read(),
        silence: Offset(0),
    }
}

fn tick(phases: [u64; 4]) -> Tick {
    let mut tick = Tick::default();
    tick.in_flight.phases = phases;
    tick
}

fn unjudged() -> Judgement {
    Judgement::default()
}

fn error(error: bool) -> Judgement {
    Judgement { error: Some(error), ..Judgement::default() }
}

fn model(name: &str) -> Scope {
    Scope::Model(name.into())
}

fn close(left: Option<f64>, right: f64) -> bool {
    left.is_some_and(|left| (left - right).abs() <= 1e-9 * right.abs().max(1.0))
}

const fn ms(ms: u64) -> Option<Duration> {
    Some(Duration::from_millis(ms))
}
