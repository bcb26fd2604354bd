//! What the whole analysis costs: an exchange with its price and its place in every SLO, a pulse, the tick of a
//! second with the alerts that it judges, a snapshot, and the memory of the windows.

#![allow(clippy::expect_used, clippy::print_stdout)]

mod traffic;

use std::cell::RefCell;
use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use weir_analysis::alert::Rules;
use weir_analysis::cost::{PriceBook, PriceOverride};
use weir_analysis::observatory::{Observatory, ObservatoryConfig};
use weir_analysis::time::Epoch;
use weir_core::exchange::{Exchange, Pulse, WallTime};
use weir_core::gaps::GapCell;
use weir_core::lanes::{GLOBAL, LaneReading, Stages};
use weir_core::observation::{InFlight, Observation, Tick};
use weir_core::stage::StageReading;
use weir_core::timeline::Stamp;

use traffic::{Dice, START, exchange, names, pulse};

const EXAMPLE: &str = include_str!("../../../examples/alerts.yaml");

/// The first stamp. No exchange began before the clock did.
const BEGIN: Stamp = Stamp(3_600_000_000_000);

const SECOND: u64 = 1_000_000_000;

/// The rules of the example, over again under other names.
fn rules(count: usize) -> Rules {
    let text = EXAMPLE.replace("llama-70b", "model-0");
    let example =
        Rules::parse(&text, &|_| Some("http://127.0.0.1:1".into())).expect("the example is right").rules;
    let conditions = example.rules().iter().map(|rule| &rule.condition).cycle().take(count);
    let rules: Vec<String> = conditions
        .enumerate()
        .map(|(nth, condition)| {
            format!("- {{name: rule_{nth}, condition: '{condition}', severity: warning}}\n")
        })
        .collect();
    match rules.is_empty() {
        true => Rules::default(),
        false => Rules::parse(&rules.concat(), &|_| None).expect("so are its conditions").rules,
    }
}

fn prices(models: &[String]) -> PriceBook {
    let priced = models.iter().map(|model| PriceOverride {
        model: model.clone(),
        input: Some(2.5),
        output: Some(10.0),
        ..PriceOverride::default()
    });
    PriceBook::default().with_overrides(&priced.collect::<Vec<_>>()).expect("these are prices")
}

/// An observatory under load, and its clock.
struct Load {
    observatory: Observatory,
    dice: Dice,
    models: Vec<String>,
    stock: Vec<Exchange>,
    pulses: Vec<Pulse>,
    now: Stamp,
    nth: usize,
    counts: StageReading,
}

impl Load {
    fn new(models: usize, rules_count: usize) -> Self {
        let models = names(models);
        let config = ObservatoryConfig {
            rules: rules(rules_count),
            prices: prices(&models),
            ..ObservatoryConfig::default()
        };
        let mut dice = Dice(88_172_645_463_325_252);
        let each = 2_048 / models.len();
        let of = models.iter().cycle().take(each * models.len());
        let stock = of.clone().map(|model| whole(&mut dice, model)).collect();
        let pulses = of.map(|model| pulse(&mut dice, model)).collect();
        let observatory = Observatory::new(config, Epoch { mono: BEGIN, wall: WallTime(START.0) });
        let counts = StageReading::default();
        Self { observatory, dice, models, stock, pulses, now: BEGIN, nth: 0, counts }
    }

    /// The next exchange, which is over now, and its turn in the stock.
    fn next(&mut self) -> usize {
        self.nth += 1;
        let turn = self.nth % self.stock.len();
        let exchange = &mut self.stock[turn];
        exchange.received_mono = Stamp(self.now.0 - exchange.duration().0);
        turn
    }

    fn exchange(&mut self, turn: usize) {
        let exchange = black_box(&self.stock[turn]);
        let valuation = self.observatory.value(exchange);
        self.observatory.exchange(exchange, &valuation);
    }

    /// Exchanges that are over now, with four pulses each.
    fn traffic(&mut self, exchanges: usize) {
        for _ in 0..exchanges {
            let turn = self.next();
            self.exchange(turn);
            for _ in 0..4 {
                self.pulse();
            }
        }
    }

    fn pulse(&mut self) {
        self.nth += 1;
        let turn = self.nth % self.pulses.len();
        self.pulses[turn].at = self.now;
        let pulse = Observation::Pulse(Box::new(self.pulses[turn].clone()));
        self.observatory.observe(&pulse);
    }

    /// The tick of the next second. Every model has a lane of its own.
    fn tick(&mut self) -> Observation {
        self.now = Stamp(self.now.0 + SECOND);
        let come = 1 + u64::from(self.dice.unit() < 0.3);
        self.counts.entered += come;
        self.counts.left += come;
        self.counts.time_ns += 4 * SECOND;
        self.counts.inside_ns += 4 * SECOND;
        let counts = self.counts;
        let lanes = std::iter::once(GLOBAL).chain(self.models.iter().map(String::as_str));
        let lanes = lanes.map(|name| LaneReading {
            name: name.into(),
            limit: Some(64),
            in_flight: 4,
            arrivals: counts.entered,
            completions: counts.left,
            stages: Stages { queue: counts, prefill: counts, decode: counts },
            ..LaneReading::default()
        });
        Observation::Tick(Box::new(Tick {
            at: self.now,
            wall: WallTime(START.0 + self.now.0 - BEGIN.0),
            lanes: lanes.collect(),
            in_flight: InFlight { phases: [0, 0, 1, 3], ..InFlight::default() },
        }))
    }

    /// So many exchanges, evenly over an hour.
    fn hour(mut self, exchanges: usize) -> Self {
        let mut done = 0;
        for second in 1..=3_600 {
            let due = exchanges * second / 3_600;
            self.traffic(due - done);
            done = due;
            let tick = self.tick();
            self.observatory.observe(&tick);
        }
        self
    }
}

/// An exchange with the gaps that its chunks had.
fn whole(dice: &mut Dice, model: &str) -> Exchange {
    let mut exchange = exchange(dice, model);
    if let Some(output) = &mut exchange.answer.output {
        let cell = GapCell::default();
        for _ in 1..output.chunks {
            cell.add((dice.spread(20.0, 1.5) * 1e6) as u64, 1);
        }
        output.gaps = cell.read();
    }
    exchange
}

/// A thousand exchanges a second, and the pulses of four thousand streams.
fn record(c: &mut Criterion) {
    let mut load = Load::new(1, 9).hour(10_000);
    c.bench_function("observatory/exchange", |b| {
        b.iter(|| {
            load.now = Stamp(load.now.0 + SECOND / 1_000);
            let turn = load.next();
            load.exchange(turn);
        });
    });
    // Made beforehand: a pulse is told once, by whoever made it.
    let mut pulses: Vec<Observation> =
        load.pulses.iter().map(|pulse| Observation::Pulse(Box::new(pulse.clone()))).collect();
    let mut nth = 0;
    c.bench_function("observatory/pulse of 50 gaps", |b| {
        b.iter(|| {
            nth = (nth + 1) % pulses.len();
            load.now = Stamp(load.now.0 + SECOND / 4_000);
            if let Observation::Pulse(pulse) = &mut pulses[nth] {
                pulse.at = load.now;
            }
            load.observatory.observe(black_box(&pulses[nth]));
        });
    });
}

/// A tick after a second in which every model had an exchange and four pulses.
fn tick(c: &mut Criterion) {
    for (models, rules) in [(1, 0), (1, 64), (64, 0), (64, 64)] {
        let load = RefCell::new(Load::new(models, rules).hour(10_000));
        c.bench_function(&format!("observatory/tick/{models} models, {rules} rules"), |b| {
            b.iter_batched(
                || {
                    let mut load = load.borrow_mut();
                    load.traffic(models);
                    load.tick()
                },
                |tick| load.borrow_mut().observatory.observe(&tick),
                BatchSize::PerIteration,
            );
        });
    }
}

fn snapshot(c: &mut Criterion) {
    for models in [1, 64] {
        let load = Load::new(models, 9).hour(10_000);
        println!("{models} models, 10,000 exchanges in an hour: {:?}", load.observatory.snapshot().memory);
        c.bench_function(&format!("observatory/snapshot/{models} models"), |b| {
            b.iter(|| load.observatory.snapshot());
        });
    }
}

criterion_group!(benches, record, tick, snapshot);
criterion_main!(benches);
