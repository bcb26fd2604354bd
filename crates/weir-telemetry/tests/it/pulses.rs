//! The pulses of an exchange add up to its whole output, however it runs and ends.

use std::time::Duration;

use tempfile::NamedTempFile;
use weir_core::dialect::Dialect;
use weir_core::exchange::{Exchange, ExchangeId, ItlBasis, Output, Pulse};
use weir_core::inflight::{Inflight, Listed};
use weir_core::observation::Observation;
use weir_core::timeline::{Mark, Offset, Stamp};
use weir_telemetry::TelemetryConfig;

use crate::sut::{MS, Sut, clock, recorded, stream};

/// A stream that runs: what the data path does of it.
struct Relay {
    live: Listed,
    chunks: u64,
    tokens: u64,
}

impl Relay {
    fn start(sut: &Sut, id: u64) -> Self {
        let live = Inflight::enter(&sut.inflight, ExchangeId(id), clock(), Dialect::Chat);
        live.name_model("m");
        Self { live, chunks: 0, tokens: 0 }
    }

    async fn chunk(&mut self, after: u64, tokens: u32) {
        tokio::time::sleep(Duration::from_millis(after)).await;
        let at = clock().since(self.live.received);
        self.chunks += 1;
        self.tokens += u64::from(tokens);
        self.live.byte(at);
        self.live.chunk(at, self.chunks, self.tokens);
        if self.chunks > 1 {
            self.live.gaps().add(after * MS, tokens);
        }
    }

    fn finish(self, id: u64) -> Exchange {
        let mut exchange = stream(id, "m");
        exchange.received_mono = self.live.received;
        let first = self.live.read().first_token.unwrap_or_default();
        exchange.timeline.set(Mark::FirstToken, first);
        exchange.timeline.set(Mark::Ended, clock().since(self.live.received));
        exchange.answer.output = Some(Output {
            chunks: self.chunks,
            tokens: self.tokens,
            itl_basis: ItlBasis::Tokens,
            gaps: self.live.read_gaps(),
            ..Output::default()
        });
        exchange
    }
}

struct Recording(NamedTempFile);

impl Recording {
    fn start() -> (Self, Sut) {
        Self::start_with(TelemetryConfig::default())
    }

    fn start_with(config: TelemetryConfig) -> (Self, Sut) {
        let file = NamedTempFile::new().unwrap();
        let record = Some(file.path().to_owned());
        (Self(file), Sut::start(TelemetryConfig { record, ..config }))
    }

    fn pulses(&self, id: u64) -> Vec<Pulse> {
        let observations = recorded(self.0.path());
        let pulses = observations.into_iter().filter_map(|observation| match observation {
            Observation::Pulse(pulse) if pulse.id == ExchangeId(id) => Some(*pulse),
            _ => None,
        });
        pulses.collect()
    }
}

/// Ends in real time, for the file is written by a thread that knows no other.
async fn end(sut: Sut) {
    tokio::time::resume();
    sut.shutdown().await;
}

/// Chunks, tokens, gaps per token (count and sum), gaps per chunk.
fn total(pulses: &[Pulse]) -> [u64; 5] {
    let mut sum = [0; 5];
    for pulse in pulses {
        let Pulse { chunks, tokens, gaps, .. } = pulse;
        for (sum, n) in
            sum.iter_mut().zip([*chunks, *tokens, gaps.itl.count, gaps.itl.sum_ns, gaps.inter_chunk.count])
        {
            *sum += n;
        }
        let binned: u64 = gaps.itl.slots.iter().map(|&(_, n)| u64::from(n)).sum();
        assert_eq!(binned, gaps.itl.count);
    }
    sum
}

#[tokio::test(start_paused = true)]
async fn a_long_stream_pulses_once_a_second_and_adds_up() {
    let (recording, sut) = Recording::start();
    tokio::time::sleep(Duration::from_millis(1)).await;
    let mut relay = Relay::start(&sut, 1);
    for _ in 0..100 {
        relay.chunk(37, 3).await;
    }
    let exchange = relay.finish(1);
    let gaps = exchange.answer.output.as_ref().unwrap().gaps.clone();
    let ended = exchange.received_mono.plus(exchange.duration());
    sut.send(exchange).await;
    end(sut).await;

    let pulses = recording.pulses(1);
    // Ticks come at 1, 2 and 3 s, the end at 3.7 s.
    assert_eq!(pulses.len(), 4);
    let inner: Vec<Stamp> = pulses[..3].iter().map(|pulse| pulse.at).collect();
    assert!(inner.windows(2).all(|pair| pair[1].since(pair[0]).0 >= 999 * MS), "{inner:?}");
    assert_eq!(pulses[3].at, ended);
    assert_eq!(pulses[0].first_token, Some(Offset(37 * MS)));
    assert!(pulses[1..].iter().all(|pulse| pulse.first_token.is_none()));
    assert_eq!(total(&pulses), [100, 300, 297, gaps.itl.sum_ns, 99]);
    assert!(pulses.iter().all(|pulse| pulse.model.as_deref() == Some("m")));
    assert!(matches!(recorded(recording.0.path()).last(), Some(Observation::Exchange(_))));
}

#[tokio::test(start_paused = true)]
async fn a_stream_between_two_ticks_pulses_once() {
    let (recording, sut) = Recording::start();
    sut.send(stream(1, "m")).await;
    end(sut).await;
    let pulses = recording.pulses(1);
    assert_eq!(pulses.len(), 1);
    assert_eq!(total(&pulses), [4, 4, 3, 50 * MS, 3]);
    assert_eq!(pulses[0].first_token, Some(Offset(100 * MS)));
    assert_eq!(pulses[0].silence, Offset(MS));
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_does_not_pulse() {
    let (recording, sut) = Recording::start();
    tokio::time::sleep(Duration::from_millis(1)).await;
    let mut relay = Relay::start(&sut, 1);
    tokio::time::sleep(Duration::from_secs(3)).await;
    relay.chunk(100, 1).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    sut.send(relay.finish(1)).await;
    end(sut).await;
    let pulses = recording.pulses(1);
    assert_eq!(total(&pulses), [1, 1, 0, 0, 0]);
    assert_eq!(pulses.len(), 1);
    assert_eq!(pulses[0].first_token, Some(Offset(3_100 * MS)));
    assert_eq!(pulses[0].silence.0 / MS, 899);
}

#[tokio::test(start_paused = true)]
async fn a_stream_whose_record_was_dropped_still_adds_up() {
    let (recording, sut) = Recording::start();
    tokio::time::sleep(Duration::from_millis(1)).await;
    let mut relay = Relay::start(&sut, 1);
    for _ in 0..40 {
        relay.chunk(30, 1).await;
    }
    let exchange = relay.finish(1);
    let gaps = exchange.answer.output.unwrap().gaps;
    // It found the queue full: nothing is sent.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let page = sut.page().await;
    assert_eq!(page.get("weir_chunks_total", &[("model", "m")]), Some(40.0));
    assert_eq!(page.get("weir_itl_seconds_count", &[("model", "m")]), Some(39.0));
    end(sut).await;
    assert_eq!(total(&recording.pulses(1)), [40, 40, 39, gaps.itl.sum_ns, 39]);
}

#[tokio::test(start_paused = true)]
async fn beyond_the_bound_a_stream_pulses_at_its_end() {
    let config = TelemetryConfig { max_pulsing: 1, ..TelemetryConfig::default() };
    let (recording, sut) = Recording::start_with(config);
    tokio::time::sleep(Duration::from_millis(1)).await;
    let mut relays = [Relay::start(&sut, 1), Relay::start(&sut, 2), Relay::start(&sut, 3)];
    for _ in 0..30 {
        for relay in &mut relays {
            relay.chunk(40, 1).await;
        }
    }
    for (id, relay) in (1..).zip(relays) {
        sut.send(relay.finish(id)).await;
    }
    end(sut).await;
    let mut counts = [1, 2, 3].map(|id| {
        assert_eq!(total(&recording.pulses(id))[..3], [30, 30, 29]);
        recording.pulses(id).len()
    });
    counts.sort_unstable();
    assert_eq!(counts[..2], [1, 1]);
    assert!(counts[2] > 1, "{counts:?}");
}
