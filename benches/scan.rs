//! The scanner by itself: finding events in bytes, whole and cut.

mod common;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use weir_core::sse::{DEFAULT_LIMIT, Scanner};

fn scan(c: &mut Criterion) {
    let stream = common::stream(256).concat();
    let mut group = c.benchmark_group("scan");
    group.throughput(Throughput::Elements(259));
    for size in [stream.len(), 1448, 97] {
        group.bench_function(format!("{size} bytes a read"), |b| {
            b.iter(|| {
                let mut scanner = Scanner::new(DEFAULT_LIMIT);
                let mut bytes = 0;
                for read in stream.chunks(size) {
                    scanner.feed(black_box(read), &mut |event| bytes += event.data.len());
                }
                bytes
            });
        });
    }
    group.finish();
}

criterion_group!(benches, scan);
criterion_main!(benches);
