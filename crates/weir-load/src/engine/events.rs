//! The events of one stream in order, each with its due time. They are rendered step by step as they
//! fall due, so a long stream that is cut short costs what was sent of it.

use std::collections::VecDeque;

use bytes::Bytes;

use super::api::script::Script;
use super::generation::Generation;

/// An event and when it may leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) due: Due,
    pub(crate) bytes: Bytes,
}

/// When an event may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// At once, even before the request has its turn.
    AtOnce,
    /// With the token of that number, counted from zero in each choice.
    With(u32),
}

/// Iterator over a stream's events.
#[derive(Debug)]
pub(crate) struct Events {
    generation: Generation,
    script: Box<dyn Script>,
    part: Part,
    /// Events that have been rendered but not yet handed out.
    ready: VecDeque<Event>,
    /// Events handed out.
    sent: u64,
    total: u64,
    /// A failure takes the place of this event.
    fails_at: Option<u64>,
    /// The token that the latest step began with.
    latest: u32,
}

/// The part of a stream that is rendered next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Opening,
    Step(u32),
    Closing,
    Nothing,
}

impl Events {
    pub(crate) fn new(generation: Generation, script: Box<dyn Script>, fails_at: Option<u64>) -> Self {
        let counts = script.counts(&generation);
        // A stream that fails does so before its own last event.
        let fails_at = fails_at.map(|at| at.min(counts.total().saturating_sub(1)));
        Events {
            total: fails_at.map_or(counts.total(), |at| at + counts.failure),
            generation,
            script,
            part: Part::Opening,
            ready: VecDeque::new(),
            sent: 0,
            fails_at,
            latest: 0,
        }
    }

    /// How many events there will be in all.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Renders the next part of the stream.
    fn render(&mut self) {
        match self.part {
            Part::Opening => {
                self.ready.extend(self.script.opening(&self.generation));
                self.part = Part::Step(0);
            }
            Part::Step(step) if step < self.generation.steps() => {
                self.latest = self.generation.tokens_after(step);
                let events = self.script.step(&self.generation, step);
                self.enqueue(events);
                self.part = Part::Step(step + 1);
            }
            Part::Step(_) => self.part = Part::Closing,
            Part::Closing => {
                let events = self.script.closing(&self.generation);
                self.enqueue(events);
                self.part = Part::Nothing;
            }
            Part::Nothing => {}
        }
    }

    /// The tokens of a chunk come out together: its events are due with the first of them.
    fn enqueue(&mut self, events: Vec<Bytes>) {
        let due = Due::With(self.latest);
        self.ready.extend(events.into_iter().map(|bytes| Event { due, bytes }));
    }
}

impl Iterator for Events {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        if self.fails_at == Some(self.sent) {
            self.fails_at = None;
            self.part = Part::Nothing;
            self.ready.clear();
            let events = self.script.failure(&self.generation, self.sent);
            self.enqueue(events);
        }
        while self.ready.is_empty() && self.part != Part::Nothing {
            self.render();
        }
        let event = self.ready.pop_front()?;
        self.sent += 1;
        Some(event)
    }
}
