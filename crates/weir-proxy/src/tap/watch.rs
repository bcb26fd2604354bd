//! Tells a slow client from a slow engine by how the body is polled.

use weir_core::draft::Arrival;
use weir_core::timeline::{Offset, Stamp};

/// A body that was not polled for this long was not wanted: its client took no bytes. Shorter
/// pauses are the machine's own.
const UNWATCHED: Offset = Offset(20_000_000);

/// Follows the polls of one body.
///
/// A frame that comes after a poll which found nothing was waited for, and is read when it comes.
/// The server stops polling once its write buffer is full: a frame that lies ready at the first
/// poll after a long pause came at some time in that pause.
#[derive(Debug, Default)]
pub(crate) struct PollWatch {
    /// When the last poll found a frame; `None` after one that found nothing.
    ready_at: Option<Stamp>,
    behind: bool,
}

impl PollWatch {
    /// A poll found nothing.
    pub(crate) fn pending(&mut self) {
        self.ready_at = None;
        self.behind = false;
    }

    /// A poll found a frame at `now`.
    pub(crate) fn ready(&mut self, now: Stamp) -> Arrival {
        let unwatched = self.ready_at.replace(now).map(|before| now.since(before)).unwrap_or_default();
        if unwatched >= UNWATCHED {
            self.behind = true;
            Arrival::Late(unwatched)
        } else if self.behind {
            Arrival::Behind
        } else {
            Arrival::Awaited
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Arrival, Offset, PollWatch, Stamp};

    const MS: u64 = 1_000_000;

    #[test]
    fn a_frame_ready_after_a_pause_is_late_and_those_behind_it_too() {
        let mut watch = PollWatch::default();
        assert_eq!(watch.ready(Stamp(0)), Arrival::Awaited);
        assert_eq!(watch.ready(Stamp(MS)), Arrival::Awaited);
        assert_eq!(watch.ready(Stamp(500 * MS)), Arrival::Late(Offset(499 * MS)));
        assert_eq!(watch.ready(Stamp(501 * MS)), Arrival::Behind);
        watch.pending();
        assert_eq!(watch.ready(Stamp(900 * MS)), Arrival::Awaited);
    }
}
