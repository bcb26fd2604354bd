use weir_core::outcome::Outcome;
use weir_core::timeline::Mark;

use super::super::goodput::{Judgement, LatencyLimits};
use super::{at, close, exchange, failed, ms, windows};
use crate::scope::{Scope, Window};

/// First token after 800 ms, 50 tokens, the last 2450 ms later: a TPOT of exactly 50 ms.
fn plain() -> weir_core::exchange::Exchange {
    exchange("m", 800, 3_250, 50)
}

#[test]
fn a_value_at_its_limit_meets_it() {
    let limits = LatencyLimits { ttft: ms(800), tpot: ms(50), e2e: ms(3_250), queue_wait: ms(0), itl: None };
    assert_eq!(limits.verdict(&plain()), Some(true));
    for tight in [
        LatencyLimits { ttft: ms(799), ..limits },
        LatencyLimits { tpot: ms(49), ..limits },
        LatencyLimits { e2e: ms(3_249), ..limits },
    ] {
        assert_eq!(tight.verdict(&plain()), Some(false), "{tight:?}");
    }
    assert_eq!(LatencyLimits::default().verdict(&plain()), None);
}

#[test]
fn one_token_has_a_tpot_of_zero() {
    let limits = LatencyLimits { tpot: ms(1), itl: ms(1), ..LatencyLimits::default() };
    assert_eq!(limits.verdict(&exchange("m", 800, 800, 1)), Some(true));
}

#[test]
fn the_mean_gap_is_that_of_the_exchange() {
    let mut exchange = plain();
    exchange.answer.output.as_mut().unwrap().gaps = super::pulse("m", &[40, 60, 80]).gaps;
    let limits = LatencyLimits { itl: ms(60), ..LatencyLimits::default() };
    assert_eq!(limits.verdict(&exchange), Some(true));
    assert_eq!(LatencyLimits { itl: ms(59), ..limits }.verdict(&exchange), Some(false));
}

#[test]
fn what_did_not_complete_is_not_good() {
    let limits = LatencyLimits { e2e: ms(60_000), ..LatencyLimits::default() };
    assert_eq!(limits.verdict(&failed("m", Outcome::UpstreamError, 500)), Some(false));
    let mut left = plain();
    left.outcome = Outcome::ClientGoneMidStream;
    assert_eq!(limits.verdict(&left), Some(false));
}

#[test]
fn an_answer_that_is_no_stream_is_judged_by_what_it_has() {
    let mut whole = plain();
    whole.answer.stream = false;
    whole.answer.output = None;
    whole.timeline.forget(Mark::FirstToken);
    whole.timeline.forget(Mark::LastToken);
    let ttft = LatencyLimits { ttft: ms(1), ..LatencyLimits::default() };
    assert_eq!(ttft.verdict(&whole), None);
    assert_eq!(LatencyLimits { e2e: ms(3_250), ..ttft }.verdict(&whole), Some(true));
    assert_eq!(LatencyLimits { e2e: ms(3_249), ..ttft }.verdict(&whole), Some(false));
    // A stream without a token had none in time.
    whole.answer.stream = true;
    assert_eq!(ttft.verdict(&whole), Some(false));
}

#[test]
fn goodput_is_of_those_that_count() {
    let mut windows = windows();
    let mut record = |tokens, met, counts| {
        let verdict = Judgement { met, counts, error: None };
        windows.exchange(&exchange("m", 100, 1_100, tokens), at(10_000), verdict);
    };
    record(30, Some(true), true);
    record(20, Some(true), true);
    record(99, Some(false), true);
    record(99, None, true);
    record(99, Some(false), false);
    record(99, Some(true), false);
    let goodput = windows.figures(&Scope::Overall, Window::Minute).unwrap().goodput.unwrap();
    assert!(close(goodput.requests_per_s, 0.2));
    assert!(close(goodput.tokens_per_s, 5.0));
    assert!(close(goodput.attainment, 2.0 / 3.0));
}
