//! The record of an exchange while it is being written. It has one owner, the relay; every way an
//! exchange can end leads to the same [`Draft::finish`].

mod flow;
mod verdict;

pub use flow::{Arrival, Watch};
pub use verdict::End;

use std::sync::Arc;

use crate::content::{CaptureLimit, Content, Input};
use crate::dialect::{Dialect, RequestPeek};
use crate::exchange::{
    Answer, Asked, Caller, Exchange, ExchangeId, HttpVersion, ScanCounts, TokenCount, WallTime,
};
use crate::inflight::{Listed, Phase};
use crate::lanes::LaneGauge;
use crate::reader::{Facts, Reader, ResponseHead};
use crate::timeline::{Mark, Offset, Stamp, Timeline};
use crate::trace::TracePlace;
use crate::usage::Provenance;

use flow::Flow;
use verdict::judge;

/// The marks that events set.
const OF_EVENTS: [Mark; 5] =
    [Mark::FirstEvent, Mark::FirstToken, Mark::FirstAnswer, Mark::LastToken, Mark::Terminal];

/// What is known when a request head has been read.
#[derive(Debug)]
pub struct Opening {
    /// Its ordinal.
    pub id: ExchangeId,
    /// The client's `x-request-id`, else one made for it.
    pub request_id: Box<str>,
    /// Its place in a trace.
    pub trace: Option<Box<TracePlace>>,
    /// When the head was read, by the wall clock.
    pub received: WallTime,
    /// The same moment by the monotonic clock.
    pub received_mono: Stamp,
    /// The HTTP method.
    pub method: Box<str>,
    /// The version of HTTP that the client speaks.
    pub http: HttpVersion,
    /// On whose behalf, as far as the head tells.
    pub caller: Caller,
    /// The path, without the query, cut at a bound.
    pub path: Box<str>,
    /// The dialect that the path names.
    pub dialect: Dialect,
    /// The name of the upstream.
    pub upstream: Box<str>,
}

/// An exchange in the making.
#[derive(Debug)]
pub struct Draft {
    opening: Opening,
    peek: RequestPeek,
    request_bytes: u64,
    body_wait: Offset,
    status: Option<u16>,
    timeline: Timeline,
    answer_bytes: u64,
    reader: Option<Reader>,
    flow: Flow,
    live: Listed,
    /// What was asked, and how much is kept of each side; present where it is kept.
    capture: Option<Box<(CaptureLimit, Option<Input>)>>,
}

impl Draft {
    /// Begins the record of an exchange that is listed as in flight.
    pub fn open(opening: Opening, live: Listed, watch: &Watch) -> Self {
        live.name_upstream(&opening.upstream);
        Self {
            opening,
            peek: RequestPeek::default(),
            request_bytes: 0,
            body_wait: Offset::default(),
            status: None,
            timeline: Timeline::default(),
            answer_bytes: 0,
            reader: None,
            flow: Flow::new(watch),
            live,
            capture: None,
        }
    }

    /// The exchange's place in a trace.
    pub fn trace(&self) -> Option<&TracePlace> {
        self.opening.trace.as_deref()
    }

    /// The request body was read, or as much of it as is buffered, after waiting `waited` for it.
    pub fn peeked(&mut self, peek: RequestPeek, waited: Offset) {
        if let Some(model) = &peek.model {
            self.live.name_model(model);
        }
        self.peek = peek;
        self.body_wait = waited;
    }

    /// What both sides say is kept, within this limit of each. These are the parts of the request body, as
    /// far as it was read.
    pub fn capture<'a>(&mut self, limit: CaptureLimit, body_parts: impl Iterator<Item = &'a [u8]>) {
        let input = Input::read(self.opening.dialect, body_parts, limit);
        self.capture = Some(Box::new((limit, input)));
    }

    /// `bytes` more of the request body were taken in.
    pub fn request_bytes(&mut self, bytes: u64) {
        self.request_bytes += bytes;
    }

    /// Whatever came was taken by the client's side, and more is waited for.
    pub fn awaits(&self) {
        self.live.awaits();
    }

    /// It goes through these lanes. To be said before it is admitted.
    pub fn goes_through(&self, lanes: Box<[Arc<LaneGauge>]>) {
        self.live.goes_through(lanes);
    }

    /// Something happened at `at`.
    pub fn mark(&mut self, mark: Mark, at: Stamp) {
        let at = self.offset(at);
        match mark {
            Mark::Admitted => self.live.admitted(at),
            Mark::ResponseHead => self.live.moved(at),
            _ => {}
        }
        self.timeline.set(mark, at);
    }

    /// The upstream's response head was read at `at`.
    pub fn answered(&mut self, head: &ResponseHead<'_>, at: Stamp) {
        self.live.enter(Phase::Prefill);
        self.mark(Mark::ResponseHead, at);
        self.status = Some(head.status);
        let reader = Reader::new(self.opening.dialect, &self.peek, head);
        let reader = reader.counting(self.flow.token_rule());
        self.reader = Some(match &self.capture {
            // Neither vectors nor scores are words.
            Some(capture) if self.opening.dialect.is_generation() => reader.capturing(capture.0),
            _ => reader,
        });
    }

    /// Weir answers by itself, with this status.
    pub fn refused(&mut self, status: u16) {
        self.status = Some(status);
    }

    /// Bytes of the response body passed at `at`. The hot path: nothing here fails or waits, and
    /// an event that looks like the one before allocates nothing.
    pub fn frame(&mut self, bytes: &[u8], at: Stamp, arrival: Arrival) {
        if bytes.is_empty() {
            return;
        }
        let at = self.offset(at);
        self.answer_bytes += bytes.len() as u64;
        self.timeline.set_first(Mark::FirstByte, at);
        self.live.byte(at);
        self.flow.arrived(at, arrival);
        let Some(reader) = &mut self.reader else { return };
        let (flow, timeline, live) = (&mut self.flow, &mut self.timeline, &self.live);
        reader.feed(bytes, &mut |seen| flow.seen(seen, at, timeline, live));
    }

    /// `bytes` more of the answer passed without being looked at.
    pub fn answer_bytes(&mut self, bytes: u64) {
        self.answer_bytes += bytes;
    }

    /// True once the client has all it needs: after the terminal event, or after every choice
    /// finished. A client that leaves then is a success.
    pub fn is_settled(&self) -> bool {
        self.reader.as_ref().is_some_and(|reader| {
            let facts = reader.facts();
            reader.is_stream() && (facts.terminal || facts.all_finished)
        })
    }

    /// Freezes the record: the exchange ended like this at `at`.
    pub fn finish(mut self, end: End, at: Stamp) -> Exchange {
        let at = self.offset(at);
        if let Some(reader) = &mut self.reader {
            // A last event without its blank line is settled now; it came with the last bytes.
            let last_byte = self.flow.last_arrival().unwrap_or(at);
            let (flow, timeline, live) = (&mut self.flow, &mut self.timeline, &self.live);
            reader.finish(&mut |seen| flow.seen(seen, last_byte, timeline, live));
        }
        self.live.ended(at);
        self.timeline.set(Mark::Ended, at);
        let (outcome, error_type) =
            judge(end, self.status, self.reader.as_ref(), self.timeline.at(Mark::FirstToken).is_some());
        let unpacked = self.reader.as_ref().and_then(Reader::unpacked);
        let untimed = unpacked.is_some_and(|unpacked| !unpacked.is_timed());
        if untimed {
            OF_EVENTS.into_iter().for_each(|mark| self.timeline.forget(mark));
        }
        let answer = match &self.reader {
            Some(reader) => Answer {
                bytes: self.answer_bytes,
                stream: reader.is_stream(),
                output: if untimed { self.flow.freeze_untimed() } else { self.flow.freeze(&self.live) },
                unpacked,
                ..answer_of(reader.facts())
            },
            None => Answer { bytes: self.answer_bytes, ..Answer::default() },
        };
        let content = self.capture.map(|capture| {
            let output = self.reader.as_mut().map(Reader::take_said).unwrap_or_default();
            Box::new(Content { input: capture.1, output })
        });
        let choices = self.peek.all_choices();
        let Opening { method, path, http, dialect, mut caller, .. } = self.opening;
        caller.session = caller.session.or(self.peek.caller.session);
        caller.user = caller.user.or(self.peek.caller.user);
        let Opening { id, request_id, trace, received, received_mono, upstream, .. } = self.opening;
        Exchange {
            id,
            request_id,
            trace,
            received,
            received_mono,
            request: Asked {
                method,
                http,
                path,
                dialect,
                model: self.peek.model,
                stream: self.peek.stream,
                choices,
                bytes: self.request_bytes,
                settings: self.peek.settings,
                prompt_hash: self.peek.prompt_hash,
                caller,
            },
            upstream,
            status: self.status,
            outcome,
            error_type,
            timeline: self.timeline,
            body_wait: self.body_wait,
            answer,
            content,
        }
    }

    fn offset(&self, at: Stamp) -> Offset {
        at.since(self.opening.received_mono)
    }
}

/// What the reader knows, as it stands in the record.
fn answer_of(facts: &Facts) -> Answer {
    let (usage, tokens) = match facts.usage() {
        // A number that we counted is a token count, but no engine reported it.
        Some((usage, provenance)) => {
            let told = provenance <= Provenance::EngineTimings;
            let tokens = usage.output.map(|count| TokenCount { count, provenance });
            (told.then_some(usage), tokens)
        }
        None => (None, None),
    };
    Answer {
        model: facts.model.clone(),
        id: facts.id.clone(),
        finish_reasons: facts.choices.finish_reasons().map(Into::into).collect(),
        usage,
        tokens,
        scan: ScanCounts {
            events: facts.counts.events,
            comments: facts.counts.comments,
            broken: facts.counts.parse_errors,
            oversized: facts.counts.oversized,
            unterminated: facts.unterminated,
        },
        ..Answer::default()
    }
}
