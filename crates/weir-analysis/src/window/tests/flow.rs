use weir_core::exchange::TokenCount;
use weir_core::observation::Tick;
use weir_core::outcome::Outcome;
use weir_core::timeline::{Mark, Offset};
use weir_core::usage::Provenance;

use super::{MS, at, close, error, exchange, failed, model, pulse, tick, unjudged, windows};
use crate::scope::{Scope, Window};

#[test]
fn tokens_flow_in_the_window_they_flowed_in() {
    let mut windows = windows();
    // Ten minutes at two tokens a second, pulsed each second.
    for second in 1..=600_u64 {
        windows.pulse(&pulse("m", &[500, 500]), at(second * 1_000));
    }
    let figures = windows.figures(&model("m"), Window::Minute).unwrap();
    // At 600 s one minute reaches back to 545 s: 56 pulses with those at both ends.
    assert_eq!((figures.tokens.output, figures.span_s), (112, 55.0));
    assert_eq!(figures.requests.count, 0);
    assert_eq!(figures.latency.itl.as_ref().map(|itl| itl.count), Some(112));
    windows.exchange(&exchange("m", 0, 600_000, 1_200), at(600_000), unjudged());
    let after = windows.figures(&model("m"), Window::Minute).unwrap();
    assert_eq!(after.tokens.output, 112);
    assert_eq!(after.lengths.output_tokens.unwrap().mean, 1_200.0);
    // The input was read when the first token came, ten minutes ago.
    assert_eq!(after.tokens.input, 0);
    let hour = windows.figures(&model("m"), Window::Hour).unwrap();
    assert_eq!((hour.tokens.input, hour.tokens.output), (7, 1_200));
    assert!(close(hour.throughput.effective_tps, 2.0));
    // It ran all the time, and what it spent is laid where it was spent.
    assert!(close(after.throughput.concurrency, 1.0));
    assert!(close(hour.throughput.concurrency, 1.0));
}

#[test]
fn tokens_that_only_the_end_tells_of_lie_within_the_stream() {
    let mut windows = windows();
    windows.tick(at(100_000), &Tick::default());
    let mut told = exchange("m", 0, 100_000, 1_000);
    told.answer.output.as_mut().unwrap().tokens = 200;
    windows.exchange(&told, at(100_000), unjudged());
    // One minute reaches back 55 s of the 100 s.
    assert_eq!(windows.figures(&model("m"), Window::Minute).unwrap().tokens.output, 440);
    assert_eq!(windows.figures(&model("m"), Window::Hour).unwrap().tokens.output, 800);
    let mut whole = exchange("n", 0, 100_000, 50);
    whole.answer.output = None;
    whole.timeline.forget(Mark::FirstToken);
    whole.timeline.forget(Mark::LastToken);
    windows.exchange(&whole, at(100_000), unjudged());
    assert_eq!(windows.figures(&model("n"), Window::Minute).unwrap().tokens.output, 50);
    whole.answer.tokens = Some(TokenCount { count: 9, provenance: Provenance::CountedChunks });
    windows.exchange(&whole, at(100_000), unjudged());
    assert_eq!(windows.figures(&model("n"), Window::Minute).unwrap().tokens.output, 50);
}

#[test]
fn theoretical_throughput_is_concurrency_by_the_rate_of_each() {
    let mut windows = windows();
    for second in 1..=10 {
        windows.tick(at(second * 1_000), &tick([2, 1, 1, 2]));
        windows.pulse(&pulse("m", &[10; 80]), at(second * 1_000));
    }
    // 101 tokens in two seconds: 50 a second after the first.
    windows.exchange(&exchange("m", 1_000, 3_000, 101), at(10_000), unjudged());
    let throughput = windows.figures(&Scope::Overall, Window::Minute).unwrap().throughput;
    assert_eq!((throughput.concurrency, throughput.queue_depth), (Some(4.0), Some(2.0)));
    assert!(close(throughput.theoretical_tps, 200.0));
    assert!(close(throughput.effective_tps, 80.0));
    assert!(close(throughput.effective_share, 0.4));
    // Of the model: the one exchange that ended, 3 s of 10.
    let throughput = windows.figures(&model("m"), Window::Minute).unwrap().throughput;
    assert!(close(throughput.concurrency, 0.3));
    assert!(close(throughput.theoretical_tps, 15.0));
}

#[test]
fn each_exchange_feeds_what_it_has() {
    let mut windows = windows();
    let mut waited = exchange("m", 700, 1_700, 11);
    waited.timeline.set(Mark::Queued, Offset(100 * MS));
    waited.timeline.set(Mark::Admitted, Offset(400 * MS));
    waited.timeline.set(Mark::Dispatched, Offset(500 * MS));
    windows.exchange(&waited, at(10_000), error(false));
    let mut left = exchange("m", 300, 900, 3);
    left.outcome = Outcome::ClientGoneMidStream;
    windows.exchange(&left, at(10_000), unjudged());
    windows.exchange(&failed("m", Outcome::Timeout, 504), at(10_000), error(true));
    let figures = windows.figures(&model("m"), Window::Minute).unwrap();
    let requests = &figures.requests;
    assert_eq!((requests.count, requests.errors, requests.abandoned), (3, 1, 1));
    // Who left counts for nothing.
    assert_eq!(requests.error_share, Some(0.5));
    let latency = &figures.latency;
    assert_eq!(latency.ttft.as_ref().map(|ttft| (ttft.count, ttft.mean)), Some((2, 0.5)));
    assert_eq!(latency.upstream_ttft.as_ref().map(|ttft| (ttft.count, ttft.mean)), Some((2, 0.25)));
    assert_eq!(latency.e2e.as_ref().map(|e2e| (e2e.count, e2e.max)), Some((1, 1.7)));
    assert_eq!(latency.queue_wait.as_ref().map(|wait| (wait.count, wait.max)), Some((3, 0.3)));
    assert_eq!(latency.tpot.as_ref().map(|tpot| (tpot.count, tpot.max)), Some((2, 0.3)));
    assert_eq!(latency.itl, None);
    assert_eq!(figures.lengths.tps.as_ref().map(|tps| tps.max), Some(10.0));
    assert_eq!(figures.tokens.input, 14);
    assert!(close(figures.throughput.queue_depth, 0.03));
}

#[test]
fn the_greatest_gap_of_an_earlier_pulse_is_not_told_again() {
    let mut windows = windows();
    let mut later = pulse("m", &[20, 20]);
    later.gaps.itl.max_ns = 5_000 * MS;
    windows.pulse(&later, at(1_000));
    let itl = windows.figures(&model("m"), Window::Minute).unwrap().latency.itl.unwrap();
    assert!((itl.max - 0.02).abs() < 0.0007, "{}", itl.max);
    assert_eq!(itl.mean, 0.02);
}

#[test]
fn sparklines_have_a_point_for_each_stretch_since_the_start() {
    let mut windows = windows();
    for n in 0..30 {
        windows.exchange(&exchange("m", 200, 1_000, 2), at(15_000 + n * 500), error(false));
    }
    windows.tick(at(20_000), &tick([1, 0, 0, 2]));
    windows.tick(at(46_000), &tick([0, 0, 0, 0]));
    let lines = windows.sparklines(&Scope::Overall).unwrap();
    assert_eq!((lines.grain_s, lines.from), (15, at(0)));
    assert_eq!(lines.rps, [Some(0.0), Some(2.0), Some(0.0)]);
    assert_eq!((lines.ttft_p95_s[0], lines.ttft_p95_s[2]), (None, None));
    assert!((lines.ttft_p95_s[1].unwrap() - 0.2).abs() <= 0.002);
    assert_eq!(lines.error_share, [None, Some(0.0), None]);
    assert_eq!((lines.in_flight[1], lines.queue_depth[1]), (Some(2.0), Some(1.0)));
    assert_eq!(lines.goodput_rps, [None, None, None]);
}
