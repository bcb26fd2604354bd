//! What was queued is not lost when the pipeline ends.

use std::time::Duration;

use tempfile::tempdir;
use weir_core::observation::Observation;
use weir_telemetry::{Destination, TelemetryConfig};

use crate::sut::{Sut, recorded, stream};

#[tokio::test]
async fn a_burst_right_before_the_end_is_recorded_to_the_last() {
    let folder = tempdir().unwrap();
    let (log, record) = (folder.path().join("log"), folder.path().join("record"));
    let config = TelemetryConfig {
        access_log: Some(Destination::File(log.clone())),
        record: Some(record.clone()),
        ..TelemetryConfig::default()
    };
    let sut = Sut::start(config);
    for id in 0..5_000 {
        sut.exchanges.try_send(Box::new(stream(id, "m"))).unwrap();
    }
    let sender = sut.exchanges.clone();
    sut.shutdown().await;
    assert!(sender.is_closed());
    assert_eq!(std::fs::read_to_string(&log).unwrap().lines().count(), 5_000);
    let observations = recorded(&record);
    assert_eq!(observations.len(), 10_000);
    for pair in observations.chunks(2) {
        let [Observation::Pulse(pulse), Observation::Exchange(exchange)] = pair else {
            panic!("{pair:?}");
        };
        assert_eq!(pulse.id, exchange.id);
        assert_eq!(pulse.gaps, exchange.answer.output.as_ref().unwrap().gaps);
    }
}

#[tokio::test]
async fn a_second_process_goes_on_in_the_same_record() {
    let folder = tempdir().unwrap();
    let record = folder.path().join("record");
    for id in [1, 2] {
        let config = TelemetryConfig { record: Some(record.clone()), ..TelemetryConfig::default() };
        let sut = Sut::start(config);
        sut.send(stream(id, "m")).await;
        sut.shutdown().await;
    }
    assert_eq!(recorded(&record).len(), 4);
    let text = std::fs::read_to_string(&record).unwrap();
    assert_eq!(text.matches("\"weir_record\":2,").count(), 2, "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_pipeline_without_its_handle_ends() {
    let sut = Sut::start(TelemetryConfig::default());
    drop(sut.handle);
    sut.tracker.close();
    tokio::time::timeout(Duration::from_secs(1), sut.tracker.wait()).await.unwrap();
    assert!(sut.exchanges.is_closed());
}

#[tokio::test(start_paused = true)]
async fn a_data_path_that_is_gone_leaves_the_page() {
    let sut = Sut::start(TelemetryConfig::default());
    sut.send(stream(1, "m")).await;
    let page = sut.page().await;
    assert_eq!(page.sum("weir_requests_total", &[]), 1.0);
    let Sut { exchanges, pages, handle, .. } = sut;
    drop(exchanges);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let (reply, page) = tokio::sync::oneshot::channel();
    pages.send((weir_core::page::PageFormat::Text, reply)).await.unwrap();
    assert!(page.await.unwrap().contains("weir_requests_total{"));
    handle.shutdown().await;
}
