//! The grid of bins: every octave of grains is cut into 64 equal parts. For times it is the grid of
//! `weir_core::gaps`, without its upper end.

use weir_core::gaps::grid;

const SUB_BITS: u32 = 6;

/// The bin that holds this many grains.
pub(super) const fn bin(grains: u64) -> u16 {
    // 64 octaves have fewer bins than u16 has numbers.
    grid::bin(grains, SUB_BITS) as u16
}

/// The first grain of a bin, and how many it holds.
pub(super) const fn extent(bin: u16) -> (u64, u64) {
    grid::extent(bin as usize, SUB_BITS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{bin, extent};

    #[test]
    fn small_numbers_have_bins_of_their_own() {
        for grains in 0..128 {
            assert_eq!(extent(bin(grains)), (grains, 1));
        }
        assert_eq!(extent(bin(128)), (128, 2));
        assert_eq!(bin(129), bin(128));
    }

    #[test]
    fn the_greatest_number_has_a_bin() {
        let (first, width) = extent(bin(u64::MAX));
        assert_eq!(first.wrapping_add(width), 0);
    }

    proptest! {
        #[test]
        fn a_number_lies_within_its_bin(shift in 0_u32..64, seed in any::<u64>()) {
            let grains = seed >> shift;
            let (first, width) = extent(bin(grains));
            prop_assert!(first <= grains && grains - first < width);
            prop_assert!(width == 1 || width * 64 <= first);
        }
    }
}
