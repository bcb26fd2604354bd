//! What the record holds beside exchanges and pulses: the passing of time, and what happened to Weir.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tempfile::NamedTempFile;
use weir_core::dialect::Dialect;
use weir_core::exchange::{ExchangeId, Side};
use weir_core::inflight::Phase;
use weir_core::observation::{LandmarkEvent, Observation};
use weir_core::timeline::Offset;
use weir_telemetry::TelemetryConfig;

use crate::sut::{MS, Sut, all_recorded, clock};

#[tokio::test(start_paused = true)]
async fn a_record_tells_each_second_and_each_landmark() {
    let file = NamedTempFile::new().unwrap();
    let config = TelemetryConfig { record: Some(file.path().into()), ..TelemetryConfig::default() };
    let sut = Sut::start(config);
    let lane = sut.lanes.gauge("global");
    lane.queued.store(3, Relaxed);
    lane.stages.queue.enter(clock());
    let live = sut.inflight.enter(ExchangeId(9), clock(), Dialect::Chat);
    live.enter(Phase::Prefill);
    live.byte(Offset(0));
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    sut.landmarks.send((LandmarkEvent::LimitChanged, "global: 64 to 32".to_owned())).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    // The file is written by a thread, which does not stand still with the clock.
    tokio::time::resume();
    sut.shutdown().await;

    let all = all_recorded(file.path());
    let Observation::Landmark(started) = &all[0] else { panic!("{:?}", all[0]) };
    assert_eq!(started.event, LandmarkEvent::Started);
    let mut landmarks = all.iter().filter_map(|observation| match observation {
        Observation::Landmark(landmark) => Some((landmark.event, &*landmark.detail)),
        _ => None,
    });
    assert_eq!(landmarks.next_back(), Some((LandmarkEvent::LimitChanged, "global: 64 to 32")));
    let ticks: Vec<_> = all
        .iter()
        .filter_map(|observation| match observation {
            Observation::Tick(tick) => Some(tick),
            _ => None,
        })
        .collect();
    // At the start, after one and two seconds, and at the end.
    assert_eq!(ticks.len(), 4);
    assert!(ticks.windows(2).all(|two| two[0].at < two[1].at && two[0].wall <= two[1].wall));
    let tick = ticks[2];
    assert_eq!((tick.lanes[0].name.as_ref(), tick.lanes[0].queued), ("global", 3));
    let second = |n: usize| ticks[n].lanes[0].stages.queue.inside_ns;
    assert_eq!(second(2) - second(1), 1_000 * MS);
    assert_eq!(tick.in_flight.phases, [0, 0, 1, 0]);
    let silent = &tick.in_flight.silent[0];
    assert_eq!((silent.id, silent.side, silent.phase), (ExchangeId(9), Side::Downstream, Phase::Prefill));
    assert!(silent.length > Offset(1_900 * MS) && silent.length == silent.age, "{silent:?}");
}
