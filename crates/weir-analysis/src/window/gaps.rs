//! The one place where bins of `weir_core::gaps` are folded into those of this grid.

use weir_core::gaps::{Bins, Scale};

use super::measure::Unit;

/// The bins of a gap record on this grid, in rising order: each by the middle of what it holds, so that
/// a scale with the same edges maps onto itself.
pub(super) fn folded(bins: &Bins, scale: Scale) -> impl Iterator<Item = (u16, u32)> + '_ {
    bins.slots.iter().map(move |&(bin, n)| {
        let (from, to) = (scale.lower_edge(bin.into()), scale.lower_edge(usize::from(bin) + 1));
        (Unit::Time.bin(from + (to - from) / 2), n)
    })
}
