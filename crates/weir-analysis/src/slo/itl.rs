//! Gaps between tokens against a limit: by the bins that they were counted in.

use std::time::Duration;

use weir_core::gaps::{Bins, SCALE};
use weir_core::timeline::Offset;

/// A limit that lies on the edge of a bin. Gaps below it are good, so that one of exactly the limit is bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EdgeLimit {
    first_bad: u16,
}

impl EdgeLimit {
    /// The edge that lies nearest to the limit; of two that lie as near, the stricter.
    pub(super) fn nearest(limit: Duration) -> Self {
        let nanos = Offset::from(limit).0;
        let bin = SCALE.index(nanos);
        let below = nanos.saturating_sub(SCALE.lower_edge(bin));
        // The last bin has no upper edge: what lies in it is all alike.
        let above = (bin + 1 < SCALE.len()).then(|| SCALE.lower_edge(bin + 1) - nanos);
        // A limit of nothing at all would make every gap bad: the first edge is the least one.
        let up = above.is_some_and(|above| above < below) || bin == 0;
        Self { first_bad: u16::try_from(bin + usize::from(up)).unwrap_or(u16::MAX) }
    }

    /// The limit that holds in fact.
    pub(super) fn effective(self) -> Duration {
        Duration::from_nanos(SCALE.lower_edge(self.first_bad.into()))
    }

    /// How many gaps are good, and how many are bad.
    pub(super) fn split(self, gaps: &Bins) -> [u64; 2] {
        let mut counts = [0; 2];
        for &(bin, count) in &gaps.slots {
            counts[usize::from(bin >= self.first_bad)] += u64::from(count);
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use weir_core::gaps::GapCell;

    use super::{EdgeLimit, SCALE};

    const MS: u64 = 1_000_000;

    #[test]
    fn a_limit_on_an_edge_is_kept_to_the_nanosecond() {
        let limit = EdgeLimit::nearest(Duration::from_millis(100));
        assert_eq!(limit.effective(), Duration::from_millis(100));
        let cell = GapCell::default();
        for (gap, tokens) in [(20 * MS, 1), (100 * MS - 1, 1), (100 * MS, 1), (400 * MS, 2)] {
            cell.add(gap, tokens);
        }
        assert_eq!(limit.split(&cell.read().itl), [2, 3]);
    }

    #[test]
    fn a_limit_between_edges_moves_to_the_nearer_and_tells_so() {
        let bin = SCALE.index(100 * MS);
        let (from, to) = (SCALE.lower_edge(bin), SCALE.lower_edge(bin + 1));
        let effective = |nanos| EdgeLimit::nearest(Duration::from_nanos(nanos)).effective().as_nanos() as u64;
        let middle = from + (to - from) / 2;
        assert_eq!(effective(from + 1), from);
        assert_eq!(effective(middle - 1), from);
        assert_eq!(effective(middle + 1), to);
        assert_eq!(effective(to - 1), to);
    }

    #[test]
    fn limits_beyond_the_bins_move_to_their_ends() {
        assert_eq!(EdgeLimit::nearest(Duration::ZERO).first_bad, 1);
        let last = EdgeLimit::nearest(Duration::from_secs(86_400));
        assert_eq!(usize::from(last.first_bad), SCALE.len() - 1);
    }
}
