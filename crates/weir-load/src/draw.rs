//! Random numbers that depend on a seed and a key, and on nothing else.

use rand::SeedableRng;
use rand::rngs::StdRng;

/// The generator of the `key`-th draw under `seed`: neighbouring keys give unrelated streams.
pub(crate) fn generator(seed: u64, key: u64) -> StdRng {
    StdRng::seed_from_u64(mix(mix(seed).wrapping_add(key)))
}

/// SplitMix64's finalizer: a bijection in which every input bit touches every output bit.
pub(crate) fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use rand::Rng;

    use super::*;

    #[test]
    fn the_same_key_gives_the_same_numbers_and_another_key_does_not() {
        let numbers = |seed, key| -> [u64; 4] { generator(seed, key).random() };
        assert_eq!(numbers(1, 2), numbers(1, 2));
        assert_ne!(numbers(1, 2), numbers(1, 3));
        assert_ne!(numbers(1, 2), numbers(2, 2));
        assert_ne!(numbers(1, 2), numbers(2, 1));
    }
}
