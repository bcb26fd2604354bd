//! ShareGPT: conversations of people with a model, of which the first question is asked.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::array::Elements;
use super::error::DataError;
use super::lines::open_kept;
use super::sample::{Choice, Chosen, Sampling};
use crate::bench::ask::Ask;

const ALLOWED: &str = "an array of {\"conversations\": [{\"value\": \"…\"}, {\"value\": \"…\"}, …]}";
const NONE_FIT: &str = "no conversation of two turns fits; allowed: prompts of 4 to 1024 tokens, answers of at least 4, \
                        2048 together";

/// What an entry has to keep to, in tokens: the rules of `vllm bench serve`.
const SHORTEST: u64 = 4;
const LONGEST_PROMPT: u64 = 1024;
const LONGEST: u64 = 2048;

/// How many characters are taken for a token.
const CHARACTERS_PER_TOKEN: u64 = 4;

/// A file of ShareGPT's form: a JSON array of `{"conversations": [{"from": …, "value": …}, …]}`. The first turn is
/// the prompt, the second tells how long the answer may get; entries of fewer turns are left out, and so are those
/// that `vllm bench serve` leaves out: prompts below 4 or above 1,024 tokens, answers below 4, above 2,048 together.
///
/// There is no tokenizer here: a token is taken to be four characters, rounded up, so that near these limits other
/// entries stay in than with a tokenizer, and answers are asked for at about their length. An ask names no length of
/// its prompt, because none was counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareGpt {
    /// The file, of at most 1 GiB.
    pub path: PathBuf,
    /// The length of all answers, in tokens; `None`: that of the second turn. Then an answer may be short.
    pub output_len: Option<u32>,
    /// Which conversations, and in which order.
    pub sampling: Sampling,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    conversations: Vec<Turn>,
}

#[derive(Deserialize)]
struct Turn {
    value: Option<String>,
}

impl ShareGpt {
    pub(super) fn asks(&self, seed: u64, count: Option<u64>) -> Result<Chosen, DataError> {
        let mut elements = Elements::new(&self.path, open_kept(&self.path)?);
        let mut choice = Choice::new(self.sampling, seed, count);
        while let Some(entry) = elements.advance::<Entry>(ALLOWED)? {
            let mut turns = entry.conversations.into_iter();
            let (Some(first), Some(second)) = (turns.next(), turns.next()) else { continue };
            let (Some(prompt), Some(answer)) = (first.value, second.value) else {
                return Err(elements.wrong_element(format!("a turn without `value`; allowed: {ALLOWED}")));
            };
            if let Some(ask) = self.ask(prompt, &answer) {
                choice.offer(ask);
            }
            if choice.is_complete() {
                break;
            }
        }
        not_empty(choice.finish(), &self.path, NONE_FIT)
    }

    /// An ask, if the entry keeps to the rules.
    fn ask(&self, prompt: String, answer: &str) -> Option<Ask> {
        let input = tokens(&prompt);
        let output = self.output_len.map_or_else(|| tokens(answer), u64::from);
        let short = input < SHORTEST || (self.output_len.is_none() && output < SHORTEST);
        if short || input > LONGEST_PROMPT || input + output > LONGEST {
            return None;
        }
        Some(Ask { output_tokens: u32::try_from(output).ok(), ..Ask::new(prompt) })
    }
}

/// What was chosen, if there is any.
pub(super) fn not_empty(chosen: Chosen, path: &Path, says: &'static str) -> Result<Chosen, DataError> {
    if chosen.is_empty() { Err(DataError::Unfit(path.to_owned(), says)) } else { Ok(chosen) }
}

fn tokens(text: &str) -> u64 {
    (text.chars().count() as u64).div_ceil(CHARACTERS_PER_TOKEN)
}
