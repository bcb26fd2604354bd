//! Prompts of random words and random lengths.

use rand::Rng;

use super::error::DataError;
use super::words::{self, LENGTHS, MAX_WORDS, Part};
use crate::bench::ask::Ask;
use crate::draw;

/// Keys the lengths apart from the words.
const LENGTH: u64 = 0x1e46;

/// Lengths drawn evenly around a middle, as `vllm bench serve` draws them: between ⌊n·(1 − r)⌋ and ⌈n·(1 + r)⌉ with
/// the length n and the range ratio r. The words are random, with a prefix that all prompts share in front of them.
/// A word is about a token.
#[derive(Clone, Debug, PartialEq)]
pub struct Random {
    /// The length of a prompt without its prefix, in tokens.
    pub input_len: u32,
    /// The length of an answer, in tokens.
    pub output_len: u32,
    /// How far the length of a prompt strays, from 0 to below 1.
    pub input_range_ratio: f64,
    /// How far the length of an answer strays, from 0 to below 1.
    pub output_range_ratio: f64,
    /// The length of the shared prefix, in tokens.
    pub prefix_len: u32,
}

impl Default for Random {
    fn default() -> Self {
        Self {
            input_len: 1024,
            output_len: 128,
            input_range_ratio: 0.0,
            output_range_ratio: 0.0,
            prefix_len: 0,
        }
    }
}

impl Random {
    pub(super) fn asks(
        &self,
        seed: u64,
        count: Option<u64>,
    ) -> Result<impl Iterator<Item = Ask> + use<>, DataError> {
        let prefix_len = words::checked("random prefix length", self.prefix_len, 0)?;
        let inputs = range("random input length", self.input_len, self.input_range_ratio)?;
        let outputs = range("random output length", self.output_len, self.output_range_ratio)?;
        if inputs.0 + prefix_len == 0 {
            return Err(DataError::Setting("random input length", "at least 1 token with its prefix"));
        }
        let prefix = words::text(seed, Part::Prefix(0), prefix_len);
        Ok((0..count.unwrap_or(u64::MAX)).map(move |nth| {
            let mut rng = draw::generator(seed ^ LENGTH, nth);
            let input = rng.random_range(inputs.0..=inputs.1);
            let output = rng.random_range(outputs.0.max(1)..=outputs.1.max(1));
            let mut prompt = prefix.clone();
            words::write(&mut prompt, seed, Part::Ask(nth), input);
            Ask { input_tokens: Some(prefix_len + input), output_tokens: Some(output), ..Ask::new(prompt) }
        }))
    }
}

/// The shortest and the longest.
fn range(name: &'static str, middle: u32, ratio: f64) -> Result<(u32, u32), DataError> {
    if !(0.0..1.0).contains(&ratio) {
        return Err(DataError::Setting("random range ratio", "0 to below 1"));
    }
    let middle = f64::from(words::checked(name, middle, 0)?);
    let longest = (middle * (1.0 + ratio)).ceil();
    if longest > f64::from(MAX_WORDS) {
        return Err(DataError::Setting(name, LENGTHS));
    }
    Ok(((middle * (1.0 - ratio)).floor() as u32, longest as u32))
}
