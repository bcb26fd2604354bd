//! Text of a wanted length, from words that are about one token each.

use rand::Rng;
use rand::rngs::StdRng;

use super::error::DataError;
use crate::draw;

/// The longest text that is made up, in words.
pub(super) const MAX_WORDS: u32 = 1 << 22;

/// What is said where a length is longer.
pub(super) const LENGTHS: &str = "1 to 4194304 tokens";

/// Common English words. With the space before it each is one token to the byte-pair vocabularies in use (GPT's,
/// Llama's, Qwen's), so that as many words are about as many tokens; a chat template adds its own.
const WORDS: [&str; 128] = [
    "the", "of", "and", "to", "in", "is", "that", "for", "it", "was", "on", "are", "as", "with", "they",
    "be", "at", "one", "have", "this", "from", "by", "had", "not", "but", "what", "all", "were", "when",
    "we", "there", "can", "an", "your", "which", "their", "said", "if", "do", "will", "each", "about", "how",
    "up", "out", "them", "then", "she", "many", "some", "so", "these", "would", "other", "into", "has",
    "more", "her", "two", "like", "him", "see", "time", "could", "no", "make", "than", "first", "been",
    "its", "who", "now", "people", "my", "made", "over", "did", "down", "only", "way", "find", "use", "may",
    "water", "long", "little", "very", "after", "words", "called", "just", "where", "most", "know", "get",
    "through", "back", "much", "before", "go", "good", "new", "write", "our", "used", "me", "man", "too",
    "any", "day", "same", "right", "look", "think", "also", "around", "another", "came", "come", "work",
    "three", "word", "must", "because", "does", "part", "even", "place",
];

/// Which text: the same part under the same seed is the same text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// That of one ask alone.
    Ask(u64),
    /// One of several prefixes.
    Prefix(u64),
    /// A block of a trace, by its hash.
    Block(u64),
    /// A message of a conversation.
    Message(u64, u64),
}

/// Adds words of a part to a text.
pub(super) fn write(text: &mut String, seed: u64, part: Part, words: u32) {
    let mut rng = part.generator(seed);
    for _ in 0..words {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(WORDS[rng.random_range(0..WORDS.len())]);
    }
}

/// The words of a part.
pub(super) fn text(seed: u64, part: Part, words: u32) -> String {
    let mut text = String::new();
    write(&mut text, seed, part, words);
    text
}

/// A length as it is taken from settings.
pub(super) fn checked(name: &'static str, words: u32, least: u32) -> Result<u32, DataError> {
    if (least..=MAX_WORDS).contains(&words) { Ok(words) } else { Err(DataError::Setting(name, LENGTHS)) }
}

impl Part {
    fn generator(self, seed: u64) -> StdRng {
        // Each kind has streams of its own.
        let (kind, key) = match self {
            Self::Ask(ordinal) => (1, ordinal),
            Self::Prefix(nth) => (2, nth),
            Self::Block(hash) => (3, hash),
            Self::Message(conversation, nth) => (4, draw::mix(conversation).wrapping_add(nth)),
        };
        draw::generator(draw::mix(seed).wrapping_add(kind), key)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_text_has_as_many_words_as_are_asked_for() {
        assert_eq!(text(1, Part::Ask(1), 0), "");
        assert_eq!(text(1, Part::Ask(1), 300).split(' ').count(), 300);
        assert_eq!(WORDS.iter().collect::<BTreeSet<_>>().len(), WORDS.len());
    }

    #[test]
    fn the_seed_and_the_part_decide_and_a_longer_text_begins_like_a_shorter() {
        let parts = [Part::Ask(1), Part::Ask(2), Part::Prefix(1), Part::Block(1), Part::Message(1, 0)];
        let texts: BTreeSet<String> = parts.iter().map(|part| text(1, *part, 20)).collect();
        assert_eq!(texts.len(), parts.len());
        assert!(!texts.contains(&text(2, Part::Ask(1), 20)));
        assert!(text(1, Part::Ask(1), 30).starts_with(&text(1, Part::Ask(1), 20)));
    }
}
