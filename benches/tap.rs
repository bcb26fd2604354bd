//! What the tap costs an event: scanner, dialect, clockwork and gap record. The clock is not read.

mod common;

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use weir_core::draft::Arrival;
use weir_core::timeline::Stamp;

fn tap(c: &mut Criterion) {
    let events = common::stream(1000);
    let mut group = c.benchmark_group("tap");
    group.throughput(Throughput::Elements(events.len() as u64));
    group.bench_function("an event a frame", |b| {
        b.iter_batched(
            common::draft,
            |mut draft| {
                for (n, event) in events.iter().enumerate() {
                    draft.frame(black_box(event), Stamp(20_000_000 * n as u64), Arrival::Awaited);
                }
                draft
            },
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

criterion_group!(benches, tap);
criterion_main!(benches);
