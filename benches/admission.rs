//! What admission costs a request: a free place, and a place that is handed on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use weir_core::lanes::Lanes;
use weir_core::policy::{LaneLimits, Policy};
use weir_proxy::Admission;

fn admission(c: &mut Criterion) {
    let limits =
        LaneLimits { max_concurrent: Some(1), max_queued: 16, queue_timeout: Duration::from_secs(30) };
    let policy = Policy { global: limits, models: BTreeMap::new(), fallbacks: Vec::new() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let Ok(runtime) = runtime else { return };
    let admission = Admission::new(&policy, Arc::new(Lanes::default()));
    c.bench_function("admission/free place", |b| {
        b.iter(|| runtime.block_on(admission.admit(None)).map(drop));
    });
    c.bench_function("admission/handed on", |b| {
        b.iter(|| {
            runtime.block_on(async {
                let first = admission.admit(None).await;
                let waiting = admission.admit(None);
                let give_back = async { drop(first) };
                let (second, ()) = tokio::join!(waiting, give_back);
                second.map(drop)
            })
        });
    });
}

criterion_group!(benches, admission);
criterion_main!(benches);
