//! What a record costs an exchange: opening the draft, freezing it, and writing it as a line.

mod common;

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use weir_core::draft::{Arrival, Draft, End};
use weir_core::observation::Observation;
use weir_core::timeline::Stamp;

fn streamed() -> Draft {
    let mut draft = common::draft();
    for (n, event) in common::stream(256).iter().enumerate() {
        draft.frame(event, Stamp(20_000_000 * n as u64), Arrival::Awaited);
    }
    draft
}

fn record(c: &mut Criterion) {
    c.bench_function("record/open", |b| b.iter(common::draft));
    c.bench_function("record/freeze", |b| {
        b.iter_batched(
            streamed,
            |draft| draft.finish(End::Complete, Stamp(6_000_000_000)),
            BatchSize::SmallInput,
        );
    });
    let exchange = streamed().finish(End::Complete, Stamp(6_000_000_000));
    let observation = Observation::Exchange(Box::new(exchange));
    c.bench_function("record/line", |b| b.iter(|| serde_json::to_vec(black_box(&observation))));
}

criterion_group!(benches, record);
criterion_main!(benches);
