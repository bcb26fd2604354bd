//! What the windows cost: recording an exchange and a pulse, the figures of every scope, the close of a
//! slot, and the memory of each model after an hour.

#![allow(clippy::print_stdout)]

mod traffic;

use std::cell::{Cell, RefCell};
use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use weir_analysis::scope::Window;
use weir_analysis::window::goodput::{Judgement, LatencyLimits};
use weir_analysis::window::{Windows, WindowsConfig};
use weir_core::exchange::{Exchange, Pulse};
use weir_core::observation::Tick;

use traffic::{Dice, START, exchange, names, pulse};

/// An hour of each model at `rate` requests a second, 200 tokens each in the middle.
fn hour(models: usize, rate: u64, memory: usize) -> Windows {
    let mut windows =
        Windows::new(WindowsConfig { memory, max_models: 64, known_models: Vec::new(), started: START });
    let mut dice = Dice(88_172_645_463_325_252);
    let names = names(models);
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
    let names = names(models);
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
