//! Log-linear bins of whole grains: every octave of grains is cut into 2^`sub_bits` equal parts, and below
//! that many grains each grain has a bin of its own. There is no upper end.

/// Whole grains of 1/1024 ms in a length of time.
pub const fn grains(nanos: u64) -> u64 {
    nanos.saturating_mul(128) / 125_000
}

/// The bin that holds this many grains.
pub const fn bin(grains: u64, sub_bits: u32) -> usize {
    if grains >> sub_bits == 0 {
        return grains as usize;
    }
    let octave = grains.ilog2() - sub_bits;
    // `grains >> octave` lies between one and two times 2^sub_bits.
    ((octave as usize) << sub_bits) + (grains >> octave) as usize
}

/// The first grain of a bin, and how many it holds.
pub const fn extent(bin: usize, sub_bits: u32) -> (u64, u64) {
    let parts = 1 << sub_bits;
    if bin < parts {
        return (bin as u64, 1);
    }
    let octave = (bin >> sub_bits) - 1;
    (((parts + (bin & (parts - 1))) as u64) << octave, 1 << octave)
}
