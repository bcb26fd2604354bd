//! The clockwork of a stream: from events with their arrival times to gaps, stalls and marks.

use crate::exchange::{ItlBasis, LISTED_STALLS, Output, Side, Stall, Stalls};
use crate::inflight::Live;
use crate::reader::{Seen, TokenRule};
use crate::timeline::{Mark, Offset, Timeline};

/// What to watch for in a stream.
#[derive(Clone, Debug)]
pub struct Watch {
    /// A gap longer than this is a stall.
    pub stall_after: Offset,
    /// Keep every gap in its order (bounded), and not only their distribution.
    pub keep_all_gaps: bool,
    /// Which events carry output.
    pub token_rule: TokenRule,
}

/// Whether the time at which a frame was read is the time at which it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The frame was being waited for: it came when it was read.
    Awaited,
    /// The frame may have lain ready while nobody looked for it, because the client took no
    /// bytes for this long: it came some time before it was read.
    Late(Offset),
    /// The frame was read right after a late one, without waiting: it too may have lain ready.
    Behind,
}

/// All gaps of a stream are kept up to this many.
const ALL_GAPS: usize = 65_536;

#[derive(Debug)]
pub(super) struct Flow {
    watch: Watch,
    chunks: u64,
    chunks_with_tokens: u64,
    tokens: u64,
    arrival: Option<Arrival>,
    /// Where the next gap counts from; absent while no true arrival time is known.
    gap_from: Option<Offset>,
    last_arrival: Option<Offset>,
    all_gaps: Vec<Offset>,
    upstream_stalls: Stalls,
    downstream_stalls: Stalls,
    stalls: Vec<Stall>,
}

impl Flow {
    pub(super) fn new(watch: &Watch) -> Self {
        Self {
            watch: watch.clone(),
            chunks: 0,
            chunks_with_tokens: 0,
            tokens: 0,
            arrival: None,
            gap_from: None,
            last_arrival: None,
            all_gaps: Vec::new(),
            upstream_stalls: Stalls::default(),
            downstream_stalls: Stalls::default(),
            stalls: Vec::new(),
        }
    }

    pub(super) fn token_rule(&self) -> TokenRule {
        self.watch.token_rule
    }

    /// A frame was read; what it holds is told by [`Flow::seen`].
    pub(super) fn arrived(&mut self, at: Offset, arrival: Arrival) {
        if let Arrival::Late(unwatched) = arrival {
            self.downstream_stalls.add(unwatched);
            self.list(at, unwatched, Side::Downstream);
        }
        if arrival != Arrival::Awaited {
            // Even if this frame completes no event: a gap across it would hold the client's pause.
            self.gap_from = None;
        }
        self.arrival = Some(arrival);
        self.last_arrival = Some(at);
    }

    /// An event was complete at `at`.
    pub(super) fn seen(&mut self, seen: Seen, at: Offset, timeline: &mut Timeline, live: &Live) {
        match seen {
            Seen::Event => timeline.set_first(Mark::FirstEvent, at),
            Seen::Output { tokens, answer } => {
                timeline.set_first(Mark::FirstEvent, at);
                timeline.set_first(Mark::FirstToken, at);
                if answer {
                    timeline.set_first(Mark::FirstAnswer, at);
                }
                timeline.set(Mark::LastToken, at);
                self.chunks += 1;
                self.chunks_with_tokens += u64::from(tokens.is_some());
                let carried = tokens.map_or(1, std::num::NonZeroU32::get);
                self.tokens += u64::from(carried);
                live.chunk(at, self.chunks, self.tokens);
                self.gap(at, carried, live);
            }
            Seen::Terminal => timeline.set_first(Mark::Terminal, at),
            Seen::Error => {
                timeline.set_first(Mark::FirstEvent, at);
            }
            Seen::Broken => {}
        }
    }

    /// A gap counts only where both its ends were seen when they came. What lay ready behind a
    /// client that did not read is the client's pause, not the engine's.
    fn gap(&mut self, at: Offset, tokens: u32, live: &Live) {
        let awaited = matches!(self.arrival, Some(Arrival::Awaited) | None);
        if let Some(from) = self.gap_from.filter(|_| awaited) {
            let gap = Offset(at.0.saturating_sub(from.0));
            live.gaps().add(gap.0, tokens);
            if gap > self.watch.stall_after {
                self.upstream_stalls.add(gap);
                self.list(at, gap, Side::Upstream);
            }
            if self.watch.keep_all_gaps && self.all_gaps.len() < ALL_GAPS {
                self.all_gaps.push(gap);
            }
        }
        self.gap_from = awaited.then_some(at);
    }

    fn list(&mut self, until: Offset, length: Offset, side: Side) {
        if self.stalls.len() < LISTED_STALLS {
            let from = Offset(until.0.saturating_sub(length.0));
            self.stalls.push(Stall { from, length, side });
        }
    }

    pub(super) fn last_arrival(&self) -> Option<Offset> {
        self.last_arrival
    }

    /// The same without anything that says when the output came.
    pub(super) fn freeze_untimed(self) -> Option<Output> {
        let downstream_stalls = self.downstream_stalls;
        self.flowed().then(|| Output {
            chunks: self.chunks,
            tokens: self.tokens,
            downstream_stalls,
            ..Output::default()
        })
    }

    fn flowed(&self) -> bool {
        self.chunks > 0 || self.downstream_stalls.count > 0
    }

    /// What flowed; absent where neither output nor a pause of the client was seen.
    pub(super) fn freeze(self, live: &Live) -> Option<Output> {
        self.flowed().then(|| Output {
            chunks: self.chunks,
            tokens: self.tokens,
            itl_basis: match self.chunks_with_tokens {
                0 => ItlBasis::Chunks,
                known if known == self.chunks => ItlBasis::Tokens,
                _ => ItlBasis::Mixed,
            },
            gaps: live.read_gaps(),
            all_gaps: self.watch.keep_all_gaps.then_some(self.all_gaps),
            upstream_stalls: self.upstream_stalls,
            downstream_stalls: self.downstream_stalls,
            stalls: self.stalls,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{ALL_GAPS, Arrival, Flow, LISTED_STALLS, Output, Side, Stall, Watch};
    use crate::dialect::Dialect;
    use crate::exchange::ExchangeId;
    use crate::inflight::Inflight;
    use crate::reader::{Seen, TokenRule};
    use crate::timeline::{Offset, Stamp, Timeline};

    const MS: u64 = 1_000_000;

    /// What these frames bring, each with one token; `false`: with none of its own.
    fn output(frames: &[(u64, Arrival, bool)]) -> Output {
        let live = Arc::new(Inflight::new(1)).enter(ExchangeId(1), Stamp(0), Dialect::Chat);
        let mut flow = Flow::new(&Watch {
            stall_after: Offset(1000 * MS),
            keep_all_gaps: true,
            token_rule: TokenRule::Weir,
        });
        let mut timeline = Timeline::default();
        for &(at, arrival, token) in frames {
            flow.arrived(Offset(at * MS), arrival);
            if token {
                flow.seen(Seen::Output { tokens: None, answer: true }, Offset(at * MS), &mut timeline, &live);
            }
        }
        flow.freeze(&live).unwrap()
    }

    /// The gaps between tokens that come with these frames, in ms.
    fn gaps(frames: &[(u64, Arrival, bool)]) -> Vec<u64> {
        output(frames).all_gaps.unwrap().into_iter().map(|gap| gap.0 / MS).collect()
    }

    #[test]
    fn a_gap_needs_both_ends_under_watch() {
        let late = Arrival::Late(Offset(500 * MS));
        let frames = [
            (10, Arrival::Awaited, true),
            (30, Arrival::Awaited, true),
            (530, late, true),
            (531, Arrival::Behind, true),
            (540, Arrival::Awaited, true),
            (555, Arrival::Awaited, true),
        ];
        assert_eq!(gaps(&frames), [20, 15]);
    }

    #[test]
    fn the_first_stalls_are_told_one_by_one() {
        let late = Arrival::Late(Offset(500 * MS));
        let brought = output(&[
            (10, Arrival::Awaited, true),
            (1510, Arrival::Awaited, true),
            (2100, late, true),
            (2200, Arrival::Awaited, true),
        ]);
        let upstream = Stall { from: Offset(10 * MS), length: Offset(1500 * MS), side: Side::Upstream };
        let downstream = Stall { from: Offset(1600 * MS), length: Offset(500 * MS), side: Side::Downstream };
        assert_eq!(brought.stalls, [upstream, downstream]);
        let many: Vec<_> = (0..40).map(|n| (n * 1100, Arrival::Awaited, true)).collect();
        let brought = output(&many);
        assert_eq!((brought.upstream_stalls.count, brought.stalls.len()), (39, LISTED_STALLS));
    }

    #[test]
    fn gaps_beyond_the_bound_are_counted_and_not_listed() {
        let tokens = 2 + ALL_GAPS as u64;
        let frames: Vec<_> = (1..=tokens).map(|at| (at, Arrival::Awaited, true)).collect();
        let brought = output(&frames);
        assert_eq!(brought.gaps.inter_chunk.count, tokens - 1);
        assert_eq!(brought.all_gaps.unwrap(), [Offset(MS); ALL_GAPS]);
    }

    #[test]
    fn a_pause_of_the_client_within_an_event_is_in_no_gap() {
        let late = Arrival::Late(Offset(500 * MS));
        let frames = [
            (10, Arrival::Awaited, true),
            (510, late, false),
            (512, Arrival::Awaited, true),
            (522, Arrival::Awaited, true),
        ];
        assert_eq!(gaps(&frames), [10]);
    }
}
