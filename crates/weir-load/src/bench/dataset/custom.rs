//! Prompts of one's own, one a line.

use std::path::PathBuf;

use serde::Deserialize;

use super::error::DataError;
use super::lines::{Lines, open_kept};
use super::messages::RawMessage;
use super::sample::{Choice, Chosen, Sampling};
use super::sharegpt::not_empty;
use crate::bench::ask::{Ask, Message, Prompt};

const ALLOWED: &str = "{\"prompt\": \"…\"} or {\"messages\": [{\"role\": \"user\", \"content\": \"…\"}, …]}, with \"output_tokens\" \
                       or \"output_len\" of at least 1";

/// A file of JSON lines, `{"prompt": "…", "output_tokens": 128}` as `vllm bench serve` reads them, or
/// `{"messages": [{"role": …, "content": …}, …]}`. `output_len` may stand for `output_tokens`, either may be
/// absent; other keys are passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Custom {
    /// The file, of at most 1 GiB.
    pub path: PathBuf,
    /// The length of all answers, in tokens; `None`: what a line says.
    pub output_len: Option<u32>,
    /// Which lines, and in which order.
    pub sampling: Sampling,
}

#[derive(Deserialize)]
struct Line {
    prompt: Option<String>,
    messages: Option<Vec<RawMessage>>,
    output_tokens: Option<u32>,
    output_len: Option<u32>,
}

impl Custom {
    pub(super) fn asks(&self, seed: u64, count: Option<u64>) -> Result<Chosen, DataError> {
        let mut lines = Lines::new(&self.path, open_kept(&self.path)?);
        let mut choice = Choice::new(self.sampling, seed, count);
        while let Some(line) = lines.json::<Line>(ALLOWED)? {
            let ask =
                self.ask(line).map_err(|says| lines.wrong(None, format!("{says}; allowed: {ALLOWED}")))?;
            choice.offer(ask);
            if choice.is_complete() {
                break;
            }
        }
        not_empty(choice.finish(), &self.path, "no line with a prompt; allowed: one or more")
    }

    fn ask(&self, line: Line) -> Result<Ask, &'static str> {
        let prompt = match (line.prompt, line.messages) {
            (Some(text), None) => Prompt::Text(text),
            (None, Some(messages)) if !messages.is_empty() => {
                Prompt::Messages(messages.into_iter().map(Message::from).collect())
            }
            (None, Some(_)) => return Err("no message"),
            (None, None) => return Err("neither `prompt` nor `messages`"),
            (Some(_), Some(_)) => return Err("both `prompt` and `messages`"),
        };
        let output_tokens = match (line.output_tokens, line.output_len) {
            (Some(0), _) | (_, Some(0)) => return Err("an answer of 0 tokens"),
            (Some(a), Some(b)) if a != b => return Err("`output_tokens` and `output_len` differ"),
            (a, b) => self.output_len.or(a).or(b),
        };
        Ok(Ask { prompt, output_tokens, ..Ask::new("") })
    }
}
