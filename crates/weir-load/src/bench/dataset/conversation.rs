//! Conversations of several turns.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use super::error::DataError;
use super::lines::Lines;
use super::messages::{RawMessage, Role, message};
use super::words::{self, MAX_WORDS, Part};
use crate::bench::ask::{Ask, Message, Prompt, Turn};

/// Keeps the system prompt's words apart from a conversation's.
const SYSTEM: Part = Part::Prefix(u64::MAX);

const MAX_TURNS: u32 = 1024;

const ALLOWED: &str = "{\"messages\": [{\"role\": \"system\", \"content\": \"…\"}, {\"role\": \"user\", \"content\": \"…\"}, \
                       {\"role\": \"assistant\", \"content\": \"…\"}, …]}, the system prompt at most at the beginning, user and \
                       assistant in turns, at most 1024 of the user";

/// Conversations, one after the other, each with its turns in order: all messages up to a question of the user are an
/// ask, with the data set's own answers to the questions before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// Where they come from.
    pub source: ConversationSource,
    /// How long the user thinks before each question but the first.
    pub pause: Duration,
    /// The length of an answer, in tokens; `None`: as the run says.
    pub output_len: Option<u32>,
}

/// Where conversations come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConversationSource {
    /// A file of JSON lines `{"messages": [{"role": …, "content": …}, …]}`, each a conversation, in the file's order.
    File(PathBuf),
    /// Random words, about a token each, without end. The answers before a turn have `output_len` words.
    Synthetic {
        /// How many questions a conversation has.
        turns: u32,
        /// The length of a question, in tokens.
        input_len: u32,
        /// The length of the system prompt that all conversations share, in tokens; 0: there is none.
        system_len: u32,
    },
}

#[derive(Deserialize)]
struct Line {
    messages: Vec<RawMessage>,
}

/// Asks for one turn after the other.
pub(super) struct Turns {
    pause: Duration,
    output_len: Option<u32>,
    supply: Supply,
    messages: Vec<Message>,
    /// How many of the messages the last ask had.
    asked: usize,
    conversation: u64,
    nth: u32,
}

enum Supply {
    File(Lines<BufReader<File>>),
    Synthetic { seed: u64, turns: u32, input_len: u32, system_len: u32, answer_len: u32 },
}

impl Conversation {
    pub(super) fn turns(&self, seed: u64) -> Result<Turns, DataError> {
        let supply = match &self.source {
            ConversationSource::File(path) => Supply::File(Lines::open(path)?),
            ConversationSource::Synthetic { turns, input_len, system_len } => {
                if !(1..=MAX_TURNS).contains(turns) {
                    return Err(DataError::Setting("turns of a conversation", "1 to 1024"));
                }
                let answer_len = words::checked("answer length", self.output_len.unwrap_or(0), 0)?;
                let input_len = words::checked("question length", *input_len, 1)?;
                let system_len = words::checked("system prompt length", *system_len, 0)?;
                let each = u64::from(input_len) + u64::from(answer_len);
                if u64::from(system_len) + each * u64::from(*turns) > u64::from(MAX_WORDS) {
                    return Err(DataError::Setting("length of a conversation", words::LENGTHS));
                }
                Supply::Synthetic { seed, turns: *turns, input_len, system_len, answer_len }
            }
        };
        Ok(Turns {
            pause: self.pause,
            output_len: self.output_len,
            supply,
            messages: Vec::new(),
            asked: 0,
            conversation: 0,
            nth: 0,
        })
    }
}

impl Turns {
    /// The next turn; `None`: there are no more conversations.
    pub(super) fn advance(&mut self) -> Result<Option<Ask>, DataError> {
        if !self.messages.get(self.asked..).is_some_and(|rest| rest.iter().any(is_question)) {
            if !self.messages.is_empty() {
                self.conversation += 1;
            }
            let Some(messages) = self.supply.conversation(self.conversation)? else { return Ok(None) };
            (self.messages, self.asked, self.nth) = (messages, 0, 0);
        }
        let rest = self.messages.get(self.asked..).unwrap_or_default();
        self.asked += rest.iter().position(is_question).map_or(rest.len(), |question| question + 1);
        let nth = self.nth;
        self.nth += 1;
        Ok(Some(Ask {
            prompt: Prompt::Messages(self.messages.iter().take(self.asked).cloned().collect()),
            input_tokens: self.supply.length(nth),
            output_tokens: self.output_len,
            turn: Some(Turn {
                conversation: self.conversation,
                nth,
                pause: if nth == 0 { Duration::ZERO } else { self.pause },
            }),
            ..Ask::new("")
        }))
    }
}

impl Supply {
    fn conversation(&mut self, ordinal: u64) -> Result<Option<Vec<Message>>, DataError> {
        match self {
            Self::File(lines) => {
                let Some(line) = lines.json::<Line>(ALLOWED)? else { return Ok(None) };
                match broken_rule(&line.messages) {
                    Some(says) => Err(lines.wrong(None, format!("{says}; allowed: {ALLOWED}"))),
                    None => Ok(Some(line.messages.into_iter().map(Message::from).collect())),
                }
            }
            Self::Synthetic { seed, turns, input_len, system_len, answer_len } => {
                let mut messages = Vec::new();
                if *system_len > 0 {
                    messages.push(message(Role::System, words::text(*seed, SYSTEM, *system_len)));
                }
                for turn in 0..u64::from(*turns) {
                    let text = |nth, words| words::text(*seed, Part::Message(ordinal, nth), words);
                    messages.push(message(Role::User, text(2 * turn, *input_len)));
                    messages.push(message(Role::Assistant, text(2 * turn + 1, *answer_len)));
                }
                Ok(Some(messages))
            }
        }
    }

    /// How long the prompt of a turn is, where it is known.
    fn length(&self, nth: u32) -> Option<u32> {
        match self {
            Self::File(_) => None,
            Self::Synthetic { input_len, system_len, answer_len, .. } => {
                Some(system_len + (nth + 1) * input_len + nth * answer_len)
            }
        }
    }
}

fn is_question(message: &Message) -> bool {
    message.role == "user"
}

/// What is wrong with a conversation.
fn broken_rule(messages: &[RawMessage]) -> Option<&'static str> {
    let system = usize::from(messages.first().is_some_and(|first| first.role() == Role::System));
    let mut expected = Role::User;
    for message in messages.iter().skip(system) {
        if message.role() != expected {
            return Some("a message out of turn");
        }
        expected = if expected == Role::User { Role::Assistant } else { Role::User };
    }
    match (messages.len() - system).div_ceil(2) {
        0 => Some("no question of the user"),
        questions if questions > MAX_TURNS as usize => Some("too many turns"),
        _ => None,
    }
}
