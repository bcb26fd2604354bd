//! What the windows cost: recording an exchange and a pulse, the figures of every scope, the close of a
//! slot, and the memory of each model after an hour.

#![allow(clippy::print_stdout)]

use std::cell::{Cell, RefCell};
use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use weir_analysis::scope::Window;
use weir_analysis::time::Moment;
use weir_analysis::window::goodput::{Judgement, LatencyLimits};
use weir_analysis::window::{Windows, WindowsConfig};
use weir_core::dialect::Dialect;
use weir_core::exchange::{
    Answer, Asked, Caller, Exchange, ExchangeId, HttpVersion, Output, Pulse, TokenCount, WallTime,
};
use weir_core::gaps::GapCell;
use weir_core::observation::Tick;
use weir_core::outcome::Outcome;
use weir_core::timeline::{Mark, Offset, Stamp, Timeline};
use weir_core::usage::{Provenance, Usage};

const MS: u64 = 1_000_000;

/// A small generator, the same in every run.
struct Dice(u64);

impl Dice {
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// About log-normal around `median`, nine tenths within a factor of `spread`.
    fn spread(&mut self, median: f64, spread: f64) -> f64 {
        let normal = (0..12).map(|_| self.unit()).sum::<f64>() - 6.0;
        median * (normal * spread.ln() / 1.645).exp()
    }
}

fn exchange(dice: &mut Dice, model: &str) -> Exchange {
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
fn pulse(dice: &mut Dice, model: &str) -> Pulse {
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

const START: Moment = Moment(3_600_000_000_000 * 480_000);

/// An hour of each model at `rate` requests a second, 200 tokens each in the middle.
fn hour(models: usize, rate: u64, memory: usize) -> Windows {
    let mut windows =
        Windows::new(WindowsConfig { memory, max_models: 64, known_models: Vec::new(), started: START });
    let mut dice = Dice(88_172_645_463_325_252);
    let names: Vec<String> = (0..models).map(|n| format!("model-{n}")).collect();
    let stock: Vec<(Vec<Exchange>, Vec<Pulse>)> = names
        .iter()
        .map(|name| {
            let exchanges = (0..2_000).map(|_| exchange(&mut dice, name)).collect();
            (exchanges, (0..500).map(|_| pulse(&mut dice, name)).collect())
        })
        .collect();
    let mut nth = 0;
    for second in 0..3_600_u64 {
        let now = START.plus(Duration::from_secs(second));
        windows.tick(now, &Tick::default());
        for (exchanges, pulses) in &stock {
            for _ in 0..rate {
                nth += 7;
                windows.exchange(&exchanges[nth % exchanges.len()], now, Judgement::default());
                for n in 0..4 {
                    windows.pulse(&pulses[(nth * 4 + n) % pulses.len()], now);
                }
            }
        }
    }
    windows
}

fn all_figures(windows: &Windows) -> usize {
    let scopes = windows.scopes();
    let each = scopes.iter().flat_map(|scope| Window::ALL.map(|window| windows.figures(scope, window)));
    each.flatten().count()
}

fn record(c: &mut Criterion) {
    let mut dice = Dice(7);
    let mut windows = hour(1, 20, 64 << 20);
    let exchanges: Vec<Exchange> = (0..1_000).map(|_| exchange(&mut dice, "model-0")).collect();
    let pulses: Vec<Pulse> = (0..1_000).map(|_| pulse(&mut dice, "model-0")).collect();
    let limits = LatencyLimits { ttft: Some(Duration::from_secs(1)), ..LatencyLimits::default() };
    let begun = START.plus(Duration::from_secs(3_600));
    let mut nth = 0_usize;
    c.bench_function("window/exchange", |b| {
        b.iter(|| {
            nth += 1;
            let exchange = &exchanges[nth % 1_000];
            let met = limits.verdict(exchange);
            // A thousand a second.
            let now = begun.plus(Duration::from_millis(nth as u64));
            windows.exchange(black_box(exchange), now, Judgement { met, counts: true, error: Some(false) });
        });
    });
    c.bench_function("window/pulse of 50 gaps", |b| {
        b.iter(|| {
            nth += 1;
            windows.pulse(black_box(&pulses[nth % 1_000]), begun.plus(Duration::from_millis(nth as u64)));
        });
    });
}

fn figures(c: &mut Criterion) {
    for (models, rate) in [(1, 20), (16, 20), (64, 4)] {
        let windows = hour(models, rate, 256 << 20);
        let memory = windows.memory();
        println!("{models} models at {rate}/s: {} scopes, {memory:?}", windows.scopes().len());
        c.bench_function(&format!("window/figures/{models} models"), |b| b.iter(|| all_figures(&windows)));
        close(c, models, rate, windows);
    }
}

/// The tick that closes a slot of five seconds in which every model had its traffic.
fn close(c: &mut Criterion, models: usize, rate: u64, windows: Windows) {
    let mut dice = Dice(7);
    let names: Vec<String> = (0..models).map(|n| format!("model-{n}")).collect();
    let windows = RefCell::new(windows);
    let second = Cell::new(3_600);
    let now = || START.plus(Duration::from_secs(second.get()));
    let mut traffic = || {
        let mut windows = windows.borrow_mut();
        for name in &names {
            for _ in 0..5 * rate {
                windows.exchange(&exchange(&mut dice, name), now(), Judgement::default());
                windows.pulse(&pulse(&mut dice, name), now());
            }
        }
        second.set(second.get() + 5);
    };
    c.bench_function(&format!("window/close/{models} models"), |b| {
        b.iter_batched(
            &mut traffic,
            |()| windows.borrow_mut().tick(now(), &Tick::default()),
            BatchSize::PerIteration,
        );
    });
}

criterion_group!(benches, record, figures);
criterion_main!(benches);
