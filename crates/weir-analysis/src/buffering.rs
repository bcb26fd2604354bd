//! Finds hops that hold streams back: a client that waits for tokens which lie in somebody's buffer sees a
//! slow engine, and the engine is not to blame.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_core::exchange::{Exchange, HttpVersion, Output, Unpacked};
use weir_core::gaps::SCALE;
use weir_core::timeline::{Mark, Offset};

use crate::time::Moment;

/// Streams are counted by the minute.
const SLOT: Duration = Duration::from_secs(60);

/// Minutes that are looked back on.
const SLOTS: u64 = 5;

/// Upstreams are named by configuration; this is a fence, not a limit.
const MAX_UPSTREAMS: usize = 64;

/// Fewer streams than this say nothing.
const LEAST_STREAMS: u64 = 5;

/// A hop is named when at least this share of the streams look like it.
const SHARE: f64 = 0.5;

/// Shorter streams say nothing.
const LEAST_CHUNKS: u64 = 8;

/// A shorter exchange may well come in one piece.
const LEAST_TIME: Offset = Offset(200_000_000);

/// A stream that came within this share of its time came at once.
const AT_ONCE: f64 = 0.05;

/// No engine decodes a token in less.
const AT_ONCE_GAP: Offset = Offset(1_000_000);

/// Chunks closer than this came out of one buffer.
const TOGETHER_NS: u64 = 250_000;

/// Buffers that are filled for a shorter time than this do no harm.
const PAUSE: Duration = Duration::from_millis(10);

/// What streams of the last five minutes looked like.
#[derive(Clone, Debug, Default)]
pub struct BufferingWatch {
    upstreams: BTreeMap<Box<str>, VecDeque<Slot>>,
}

/// One minute.
#[derive(Clone, Copy, Debug)]
struct Slot {
    nth: u64,
    counts: Counts,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    streams: u64,
    at_once: u64,
    coalesced: u64,
    packed: u64,
    http_1_0: u64,
}

/// A hop that seems to hold streams back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Buffering {
    /// The upstream whose streams are held back.
    pub upstream: String,
    /// Where: `upstream`, between Weir and the engine; `downstream`, between the client and Weir.
    pub hop: String,
    /// What it looks like.
    pub sign: Sign,
    /// Streams that were looked at in the last five minutes.
    pub streams: u64,
    /// Those of them that look like it.
    pub held_back: u64,
    /// The same in plain words.
    pub text: String,
    /// What to set, and where.
    pub remedy: String,
}

/// What a buffer looks like from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sign {
    /// The time to first token is nearly the whole time, and the gaps are nearly nothing.
    AtOnce,
    /// Chunks come several at a time, with pauses between.
    Coalesced,
    /// The body is packed, and not flushed at events.
    Packed,
    /// The client's side asks for streams by HTTP/1.0: a proxy there, which buffers unless told not to.
    Http10,
}

impl BufferingWatch {
    /// Looks at an exchange that was over at `at`.
    pub fn exchange(&mut self, exchange: &Exchange, at: Moment) {
        let Some(counts) = Counts::of(exchange) else { return };
        if self.upstreams.len() >= MAX_UPSTREAMS && !self.upstreams.contains_key(&exchange.upstream) {
            return;
        }
        let slots = self.upstreams.entry(exchange.upstream.clone()).or_default();
        let nth = at.periods(SLOT);
        if slots.back().is_none_or(|last| last.nth < nth) {
            slots.push_back(Slot { nth, counts: Counts::default() });
            slots.retain(|slot| slot.nth + SLOTS > nth);
        }
        if let Some(last) = slots.back_mut() {
            last.counts.add(&counts);
        }
    }

    /// The hops that seem to hold streams back, as of `now`.
    pub fn findings(&self, now: Moment) -> Vec<Buffering> {
        let now = now.periods(SLOT);
        let mut findings = Vec::new();
        for (upstream, slots) in &self.upstreams {
            let mut sum = Counts::default();
            slots.iter().filter(|slot| slot.nth + SLOTS > now).for_each(|slot| sum.add(&slot.counts));
            if sum.streams < LEAST_STREAMS {
                continue;
            }
            for (sign, held_back) in [
                (Sign::AtOnce, sum.at_once),
                (Sign::Coalesced, sum.coalesced),
                (Sign::Packed, sum.packed),
                (Sign::Http10, sum.http_1_0),
            ] {
                if held_back as f64 >= sum.streams as f64 * SHARE {
                    findings.push(Buffering::new(upstream, sign, sum.streams, held_back));
                }
            }
        }
        findings
    }
}

impl Counts {
    /// What one stream looks like; `None` for what is no stream, or too short to tell.
    fn of(exchange: &Exchange) -> Option<Self> {
        let output = exchange.answer.output.as_ref().filter(|_| exchange.answer.stream)?;
        // Several choices come together by their nature.
        if output.chunks < LEAST_CHUNKS || exchange.request.choices > 1 {
            return None;
        }
        Some(Self {
            streams: 1,
            at_once: u64::from(came_at_once(exchange, output)),
            coalesced: u64::from(is_coalesced(output)),
            packed: u64::from(exchange.answer.unpacked == Some(Unpacked::Untimed)),
            http_1_0: u64::from(exchange.request.http == HttpVersion::Http10),
        })
    }

    fn add(&mut self, other: &Counts) {
        self.streams += other.streams;
        self.at_once += other.at_once;
        self.coalesced += other.coalesced;
        self.packed += other.packed;
        self.http_1_0 += other.http_1_0;
    }
}

fn came_at_once(exchange: &Exchange, output: &Output) -> bool {
    let span = exchange.timeline.between(Mark::FirstToken, Mark::LastToken);
    let whole = exchange.timeline.between(Mark::Dispatched, Mark::LastToken);
    let (Some(span), Some(whole)) = (span, whole) else { return false };
    let near = span.0 as f64 <= whole.0 as f64 * AT_ONCE && whole >= LEAST_TIME;
    near && span.0 <= AT_ONCE_GAP.0 * (output.chunks - 1)
}

/// Most gaps are nothing, and the others are pauses.
fn is_coalesced(output: &Output) -> bool {
    let gaps = &output.gaps.inter_chunk;
    let together = SCALE.index(TOGETHER_NS);
    let tiny: u64 =
        gaps.slots.iter().filter(|slot| usize::from(slot.0) < together).map(|slot| u64::from(slot.1)).sum();
    let pauses = gaps.count.saturating_sub(tiny);
    let pause = Duration::from_nanos(gaps.sum_ns.checked_div(pauses).unwrap_or_default());
    tiny > pauses && pauses > 1 && pause >= PAUSE
}

impl Buffering {
    fn new(upstream: &str, sign: Sign, streams: u64, held_back: u64) -> Self {
        let (hop, what, remedy) = match sign {
            Sign::AtOnce => (
                "upstream",
                "come all at once after nearly their whole time",
                "the hop between Weir and the engine buffers: have the engine or that hop answer with \
                 `X-Accel-Buffering: no`, or set `proxy_buffering off` there; or the engine does not stream at all",
            ),
            Sign::Coalesced => (
                "upstream",
                "come in bursts of several chunks",
                "the hop between Weir and the engine gathers chunks: have the engine or that hop answer with \
                 `X-Accel-Buffering: no`, or set `proxy_buffering off` there; or the engine sends every few tokens \
                 by its own setting (`--stream-interval`)",
            ),
            Sign::Packed => (
                "upstream",
                "are packed without being flushed at events",
                "clients ask for packed answers and the hop that packs them buffers: send \
                 `Accept-Encoding: identity`, or take `text/event-stream` out of what is packed there",
            ),
            Sign::Http10 => (
                "downstream",
                "are asked for by HTTP/1.0",
                "a proxy between the clients and Weir speaks HTTP/1.0, as nginx does unless told otherwise, and \
                 probably buffers: set `proxy_http_version 1.1` and `proxy_buffering off` there, or add \
                 `X-Accel-Buffering: no` to the answers",
            ),
        };
        Self {
            upstream: upstream.to_owned(),
            hop: hop.to_owned(),
            sign,
            streams,
            held_back,
            text: format!("{held_back} of {streams} streams {what}"),
            remedy: remedy.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_core::exchange::{Exchange, HttpVersion, Unpacked};

    use super::{BufferingWatch, Sign};
    use crate::fixture::stream;
    use crate::time::Moment;

    const MINUTE: u64 = 60_000_000_000;

    fn signs(exchange: &Exchange) -> Vec<Sign> {
        let mut watch = BufferingWatch::default();
        for _ in 0..5 {
            watch.exchange(exchange, Moment(7 * MINUTE));
        }
        watch.findings(Moment(7 * MINUTE)).into_iter().map(|finding| finding.sign).collect()
    }

    #[test]
    fn an_even_stream_is_nobodys_fault() {
        assert_eq!(signs(&stream(800, &[20; 40])), []);
        // A long prefill before a short answer is no buffer.
        assert_eq!(signs(&stream(9_000, &[5; 20])), []);
        // A stream that paused once is none either.
        assert_eq!(signs(&stream(300, &[[20; 20], [20; 20]].concat())), []);
    }

    #[test]
    fn a_stream_that_comes_at_once_was_held_back() {
        let mut held = stream(2_000, &[0; 40]);
        assert_eq!(signs(&held), [Sign::AtOnce]);
        held.request.choices = 2;
        assert_eq!(signs(&held), []);
        assert_eq!(signs(&stream(2_000, &[0; 5])), []);
        assert_eq!(signs(&stream(100, &[0; 40])), []);
    }

    #[test]
    fn chunks_that_come_several_at_a_time_are_coalesced() {
        let gaps: Vec<u64> = (0..40).map(|n| if n % 4 == 3 { 80 } else { 0 }).collect();
        assert_eq!(signs(&stream(300, &gaps)), [Sign::Coalesced]);
        let pairs: Vec<u64> = (0..40).map(|n| if n % 3 == 0 { 0 } else { 30 }).collect();
        assert_eq!(signs(&stream(300, &pairs)), []);
    }

    #[test]
    fn the_hop_is_named_with_what_to_set() {
        let mut packed = stream(800, &[20; 40]);
        packed.answer.unpacked = Some(Unpacked::Untimed);
        assert_eq!(signs(&packed), [Sign::Packed]);
        let mut old = stream(800, &[20; 40]);
        old.request.http = HttpVersion::Http10;
        let mut watch = BufferingWatch::default();
        (0..4).for_each(|_| watch.exchange(&old, Moment(0)));
        assert!(watch.findings(Moment(0)).is_empty(), "four say nothing");
        (0..6).for_each(|_| watch.exchange(&old, Moment(MINUTE)));
        let finding = &watch.findings(Moment(MINUTE))[0];
        assert_eq!((finding.hop.as_str(), finding.streams, finding.held_back), ("downstream", 10, 10));
        assert!(finding.remedy.contains("proxy_http_version 1.1"), "{}", finding.remedy);
        // The minute before is forgotten after five, and half of all is enough.
        (0..6).for_each(|_| watch.exchange(&stream(800, &[20; 40]), Moment(5 * MINUTE)));
        let finding = &watch.findings(Moment(5 * MINUTE))[0];
        assert_eq!(
            (finding.streams, finding.held_back, finding.text.as_str()),
            (12, 6, "6 of 12 streams are asked for by HTTP/1.0")
        );
        assert!(watch.findings(Moment(6 * MINUTE)).is_empty());
    }
}
