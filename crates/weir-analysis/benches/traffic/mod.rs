//! Traffic for the benches: exchanges and pulses whose times spread as those of a model server do.

use weir_analysis::time::Moment;
use weir_core::dialect::Dialect;
use weir_core::exchange::{
    Answer, Asked, Caller, Exchange, ExchangeId, HttpVersion, Output, Pulse, TokenCount, WallTime,
};
use weir_core::gaps::GapCell;
use weir_core::outcome::Outcome;
use weir_core::timeline::{Mark, Offset, Stamp, Timeline};
use weir_core::usage::{Provenance, Usage};

const MS: u64 = 1_000_000;

/// A small generator, the same in every run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// About log-normal around `median`, nine tenths within a factor of `spread`.
    pub(crate) fn spread(&mut self, median: f64, spread: f64) -> f64 {
        let normal = (0..12).map(|_| self.unit()).sum::<f64>() - 6.0;
        median * (normal * spread.ln() / 1.645).exp()
    }
}

pub(crate) fn exchange(dice: &mut Dice, model: &str) -> Exchange {
    let wait = dice.spread(2.0, 8.0);
    let first = wait + dice.spread(300.0, 3.0);
    let tokens = dice.spread(200.0, 4.0).max(1.0) as u64;
    let last = first + tokens as f64 * dice.spread(20.0, 1.6);
    let mut timeline = Timeline::default();
    for (mark, ms) in [
        (Mark::Queued, 0.2),
        (Mark::Admitted, 0.2 + wait),
        (Mark::Dispatched, 0.5 + wait),
        (Mark::FirstToken, first + 0.5),
        (Mark::LastToken, last + 0.5),
        (Mark::Ended, last + 1.0),
    ] {
        timeline.set(mark, Offset((ms * MS as f64) as u64));
    }
    let input = dice.spread(800.0, 5.0) as u64;
    Exchange {
        id: ExchangeId(1),
        request_id: "r".into(),
        trace: None,
        received: WallTime(1),
        received_mono: Stamp(1),
        request: Asked {
            method: "POST".into(),
            http: HttpVersion::Http11,
            path: "/v1/chat/completions".into(),
            dialect: Dialect::Chat,
            model: Some(model.into()),
            stream: true,
            choices: 1,
            bytes: 10,
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
            stream: true,
            tokens: Some(TokenCount { count: tokens, provenance: Provenance::Reported }),
            usage: Some(Usage { input: Some(input), output: Some(tokens), ..Usage::default() }),
            output: Some(Output { chunks: tokens, tokens, ..Output::default() }),
            ..Answer::default()
        },
        content: None,
    }
}

/// A second of one stream: about 50 tokens.
pub(crate) fn pulse(dice: &mut Dice, model: &str) -> Pulse {
    let cell = GapCell::default();
    for _ in 0..50 {
        cell.add((dice.spread(20.0, 1.5) * MS as f64) as u64, 1);
    }
    Pulse {
        id: ExchangeId(1),
        at: Stamp(1),
        model: Some(model.into()),
        upstream: Some("default".into()),
        first_token: None,
        chunks: 50,
        tokens: 50,
        gaps: cell.read(),
        silence: Offset(0),
    }
}

pub(crate) const START: Moment = Moment(3_600_000_000_000 * 480_000);

/// The names of so many models.
pub(crate) fn names(models: usize) -> Vec<String> {
    (0..models).map(|n| format!("model-{n}")).collect()
}
