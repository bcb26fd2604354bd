//! A stream being sent: each event leaves when it is due, in a write of its own, until the stream
//! is complete, a fault breaks it, or the other side leaves.

use std::fmt;
use std::future::pending;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::unfold;
use http_body::Frame;

use super::events::{Due, Events};
use super::faults::Fault;
use super::link::{Farewell, Link};
use super::pack::Packer;
use super::record::Record;
use super::scheduler::Turn;
use crate::truth::StreamEnd;

/// A response that ends by fault. The HTTP server closes the connection when it meets one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("broken off by a simulated fault")
    }
}

impl std::error::Error for Broken {}

/// How a response breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Break {
    Abort,
    Reset,
    Stall,
}

impl Break {
    /// The fault's break and the events before it, if it is one that breaks a response.
    pub(crate) fn of(fault: Fault) -> Option<(u64, Break)> {
        match fault {
            Fault::Abort { at } => Some((at, Break::Abort)),
            Fault::Reset { at } => Some((at, Break::Reset)),
            Fault::Stall { at } => Some((at, Break::Stall)),
            _ => None,
        }
    }

    /// Breaks the response; a stall never returns.
    pub(crate) async fn happen(self, link: &Link) -> Broken {
        match self {
            Break::Abort => {}
            Break::Reset => link.part_with(Farewell::Reset),
            Break::Stall => pending().await,
        }
        Broken
    }

    /// How the stream has ended once it broke.
    pub(crate) fn end(self) -> StreamEnd {
        match self {
            Break::Abort | Break::Reset => StreamEnd::Injected,
            Break::Stall => StreamEnd::Stall,
        }
    }
}

/// One stream on its way. Dropping it ends the generation, whatever the reason was.
pub(crate) struct Playback {
    pub(crate) events: Events,
    pub(crate) turn: Turn,
    pub(crate) packer: Packer,
    /// Breaks after so many events.
    pub(crate) breaks: Option<(u64, Break)>,
    pub(crate) record: Record,
}

impl Playback {
    /// The response's body.
    pub(crate) fn into_stream(self) -> impl Stream<Item = Result<Frame<Bytes>, Broken>> {
        unfold(self, |mut playback| async move { playback.next().await.map(|frame| (frame, playback)) })
    }

    async fn next(&mut self) -> Option<Result<Frame<Bytes>, Broken>> {
        loop {
            // What was handed over before, the head or an event, leaves in a write of its own.
            self.record.flushed().await;
            if let Some((_, how)) = self.breaks.filter(|(at, _)| *at == self.record.handed_over()) {
                self.record.end(how.end());
                return Some(Err(how.happen(self.record.link()).await));
            }
            let Some(event) = self.events.next() else {
                let tail = self.packer.finish().transpose()?;
                self.record.link().arm();
                return Some(tail.map(Frame::data).map_err(|_| Broken));
            };
            if let Due::With(token) = event.due {
                self.turn.token(token).await;
            }
            self.record.hand_over();
            match self.packer.pack(&event.bytes) {
                // The coder keeps it: it leaves with a later one.
                Ok(bytes) if bytes.is_empty() => {}
                packed => return Some(packed.map(Frame::data).map_err(|_| Broken)),
            }
        }
    }
}
