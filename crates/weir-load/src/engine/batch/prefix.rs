//! The blocks of a prompt, told apart by everything up to their end.

use super::blocks::PrefixHash;
use crate::draw;

/// The hash of each full block of a prompt. A prompt is one token to begin with and then one for
/// each word, as the engine counts it; two prompts share the hashes of what they begin with.
pub(crate) fn hashes(prompt: &str, block_size: u32) -> Vec<PrefixHash> {
    let block_size = block_size as usize;
    let tokens = std::iter::once(0).chain(prompt.split_whitespace().map(word));
    let mut hash = block_size as u64;
    let mut hashes = Vec::new();
    for (index, token) in tokens.enumerate() {
        hash = draw::mix(hash ^ token);
        if (index + 1) % block_size == 0 {
            hashes.push(hash);
        }
    }
    hashes
}

/// A number for a word.
fn word(word: &str) -> u64 {
    // Eight bytes at a time; the length tells apart what the padding would not.
    word.as_bytes().chunks(8).fold(word.len() as u64, |hash, chunk| {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        draw::mix(hash ^ u64::from_le_bytes(bytes))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_full_blocks_have_a_hash() {
        assert_eq!(hashes("", 1).len(), 1);
        assert_eq!(hashes("a b", 4).len(), 0);
        assert_eq!(hashes("a b c", 4).len(), 1);
        assert_eq!(hashes("a b c d e f g", 4).len(), 2);
    }

    #[test]
    fn prompts_share_what_they_begin_with() {
        let one = hashes("be brief and kind how high is it", 2);
        let other = hashes("be brief and kind how low is it", 2);
        // The token to begin with, "be", "brief", "and", "kind", "how" make three blocks.
        assert_eq!(one[..3], other[..3]);
        assert_eq!((one.len(), other.len()), (4, 4));
        assert_ne!(one[3], other[3]);
    }

    #[test]
    fn what_comes_after_a_difference_differs() {
        let [one, other] = ["a", "b"].map(|first| hashes(&format!("{first} c d e f g h"), 2));
        assert_eq!(one.len(), 4);
        assert!(one.iter().all(|hash| !other.contains(hash)));
    }

    #[test]
    fn words_are_told_apart() {
        let words = ["", "a", "a\0", "aa", "eightbyte", "eightbytes", "river", "rivers", "川"];
        let mut numbers: Vec<u64> = words.iter().map(|text| word(text)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), words.len());
    }
}
