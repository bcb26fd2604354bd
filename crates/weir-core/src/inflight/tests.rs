use std::sync::Arc;

use super::{Inflight, Listed, Phase};
use crate::dialect::Dialect;
use crate::exchange::{ExchangeId, Side};
use crate::observation::{LISTED_SILENCES, Silence};
use crate::timeline::{Offset, Stamp};

const STALL_AFTER: Offset = Offset(1_000);

/// An exchange of this number that came at 100 and was admitted.
fn admitted(inflight: &Arc<Inflight>, id: u64) -> Listed {
    let live = inflight.enter(ExchangeId(id), Stamp(100), Dialect::Chat);
    live.enter(Phase::Waiting);
    live
}

#[test]
fn a_full_table_counts_whom_it_cannot_list() {
    let inflight = Arc::new(Inflight::new(1));
    let first = inflight.enter(ExchangeId(1), Stamp(0), Dialect::Chat);
    let second = inflight.enter(ExchangeId(2), Stamp(0), Dialect::Chat);
    assert_eq!((inflight.len(), inflight.unseen()), (1, 1));
    drop(second);
    assert_eq!(inflight.len(), 1);
    drop(first);
    assert!(inflight.is_empty());
    let _third = inflight.enter(ExchangeId(3), Stamp(0), Dialect::Chat);
    assert_eq!((inflight.len(), inflight.unseen()), (1, 1));
}

#[test]
fn the_longest_silence_comes_first() {
    let inflight = Arc::new(Inflight::new(8));
    let talking = inflight.enter(ExchangeId(1), Stamp(0), Dialect::Chat);
    let silent = inflight.enter(ExchangeId(2), Stamp(0), Dialect::Chat);
    silent.byte(Offset(10));
    talking.byte(Offset(90));
    talking.chunk(Offset(90), 1, 1);
    let order: Vec<_> = inflight.by_silence(Stamp(100)).iter().map(|r| (r.id.0, r.phase)).collect();
    assert_eq!(order, [(2, Phase::Queued), (1, Phase::Decode)]);
}

#[test]
fn a_survey_counts_every_phase_and_who_waits_in_the_queue_is_never_silent() {
    let inflight = Arc::new(Inflight::new(8));
    assert_eq!(inflight.survey(Stamp(9_000), STALL_AFTER), crate::observation::InFlight::default());
    let _queued = inflight.enter(ExchangeId(1), Stamp(100), Dialect::Chat);
    let waiting = admitted(&inflight, 2);
    let prefill = [admitted(&inflight, 3), admitted(&inflight, 4)];
    prefill.iter().for_each(|live| live.enter(Phase::Prefill));
    let decode = admitted(&inflight, 5);
    decode.chunk(Offset(50), 1, 1);
    let survey = inflight.survey(Stamp(9_000), STALL_AFTER);
    assert_eq!(survey.phases, [1, 1, 2, 1]);
    assert_eq!(survey.stalled, 1, "only what has put out a token can stall");
    let mut silent: Vec<_> = survey.silent.iter().map(|silence| silence.id.0).collect();
    silent.sort_unstable();
    assert_eq!(silent, [2, 3, 4, 5]);
    drop((waiting, decode));
    assert_eq!(inflight.survey(Stamp(9_000), STALL_AFTER).phases, [1, 0, 2, 0]);
}

#[test]
fn without_a_byte_the_upstream_is_silent_since_the_request_came() {
    let inflight = Arc::new(Inflight::new(8));
    let live = admitted(&inflight, 7);
    live.name_model("m");
    assert!(inflight.survey(Stamp(1_100), STALL_AFTER).silent.is_empty(), "not yet longer than that");
    let survey = inflight.survey(Stamp(1_101), STALL_AFTER);
    let silence = Silence {
        id: ExchangeId(7),
        model: Some("m".into()),
        phase: Phase::Waiting,
        age: Offset(1_001),
        length: Offset(1_001),
        side: Side::Upstream,
        tokens: 0,
    };
    assert_eq!((survey.silent, survey.stalled), (vec![silence], 0));
}

#[test]
fn who_is_silent_is_told_by_whether_all_that_came_was_taken() {
    let inflight = Arc::new(Inflight::new(8));
    let live = admitted(&inflight, 1);
    let silence = |now| inflight.survey(Stamp(now), STALL_AFTER).silent.pop();
    live.byte(Offset(500));
    live.chunk(Offset(500), 1, 3);
    // Came at 600 by the clock, and nobody asked for more.
    let seen = silence(2_000).unwrap();
    assert_eq!((seen.side, seen.phase, seen.tokens), (Side::Downstream, Phase::Decode, 3));
    assert_eq!((seen.age, seen.length), (Offset(1_900), Offset(1_400)));
    live.awaits();
    assert_eq!(silence(2_000).unwrap().side, Side::Upstream);
    live.byte(Offset(1_950));
    assert_eq!(silence(2_100), None, "it moved");
    assert_eq!(silence(3_100).unwrap().side, Side::Downstream);
}

#[test]
fn the_longest_silences_are_listed_and_all_stalls_are_counted() {
    let inflight = Arc::new(Inflight::new(64));
    let streams = LISTED_SILENCES as u64 + 4;
    let live: Vec<_> = (1..=streams).map(|id| admitted(&inflight, id)).collect();
    for (n, live) in (0..).zip(&live) {
        live.byte(Offset(n));
        live.chunk(Offset(n), 1, 1);
    }
    let survey = inflight.survey(Stamp(5_000), STALL_AFTER);
    assert_eq!(survey.stalled, streams);
    let listed: Vec<_> = survey.silent.iter().map(|silence| silence.id.0).collect();
    assert_eq!(listed, (1..=LISTED_SILENCES as u64).collect::<Vec<_>>());
}

#[test]
fn neither_the_queue_nor_the_time_before_the_head_is_silence_after_it() {
    let inflight = Arc::new(Inflight::new(8));
    let live = admitted(&inflight, 1);
    let length = |now| inflight.survey(Stamp(now), STALL_AFTER).silent.pop().map(|silence| silence.length);
    live.moved(Offset(5_000));
    assert_eq!(length(6_100), None, "admitted 1,000 ago");
    assert_eq!(length(6_101), Some(Offset(1_001)));
    live.enter(Phase::Prefill);
    live.moved(Offset(7_000));
    assert_eq!(length(8_100), None, "the head came 1,000 ago");
    live.byte(Offset(8_500));
    assert_eq!(length(9_700), Some(Offset(1_100)));
}
