//! How much may be unpacked.

/// Bounds on what one body may unpack to, in bytes. They bound the work.
///
/// Memory is bounded without them: by a few times what has been unpacked, and by the windows. That
/// of gzip and deflate is 32 KiB; that of br at most 16 MiB, of which half as much again is held
/// while it grows; that of zstd at most 8 MiB (RFC 9659), of which its decoder holds up to four
/// times as much, and six while it grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes in all.
    pub total: u64,
    /// Bytes that come free, before `ratio` counts.
    pub free: u64,
    /// Bytes for each packed byte fed, beyond the free ones.
    ///
    /// The packed bytes of a feed count before any of it is unpacked, so near this bound it depends
    /// on how a body is cut where it is met.
    pub ratio: u64,
}

impl Limits {
    /// How much may be handed out once `packed` bytes have been fed.
    pub(super) fn allowed(&self, packed: u64) -> u64 {
        self.ratio.saturating_mul(packed).saturating_add(self.free).min(self.total)
    }
}

impl Default for Limits {
    /// In all, a million events of 256 bytes: more tokens than any model writes in one answer.
    /// Free, 1 MiB, so that short bodies need no excuse for being monotonous. Then 128 to 1. Recorded
    /// chats come to 14 to 1 where each event is flushed, 22 at the most; without flushes to 30, and
    /// 90 at the most. So a read of 64 KiB unpacks to 9 MiB at the most.
    fn default() -> Self {
        Self { total: 256 << 20, free: 1 << 20, ratio: 128 }
    }
}
