//! Data sets: what a run asks, read from a file or made up.
//!
//! The same data set under the same seed yields the same asks. A file's mistakes are told with their line, and end
//! the asks: nothing is passed over in silence but what a format says is left out.

mod array;
mod burstgpt;
mod conversation;
mod custom;
mod error;
mod lines;
mod messages;
mod mooncake;
mod prefix;
mod random;
mod record;
mod sample;
mod sharegpt;
mod trace;
mod words;

use super::ask::Ask;

pub use conversation::{Conversation, ConversationSource};
pub use custom::Custom;
pub use error::{DataError, Place};
pub use prefix::PrefixRepetition;
pub use random::Random;
pub use record::{Record, Recorded};
pub use sample::Sampling;
pub use sharegpt::ShareGpt;
pub use trace::{Trace, TraceFormat};

/// A data set.
#[derive(Clone, Debug, PartialEq)]
pub enum Dataset {
    /// Questions people asked, from a file of ShareGPT's form.
    ShareGpt(ShareGpt),
    /// Prompts of one's own, from JSON lines.
    Custom(Custom),
    /// Random words.
    Random(Random),
    /// Random words behind shared prefixes.
    PrefixRepetition(PrefixRepetition),
    /// Conversations of several turns.
    Conversation(Conversation),
    /// A trace of production traffic.
    Trace(Trace),
    /// Traffic that Weir recorded.
    Record(Record),
}

impl Dataset {
    /// At most `count` asks; `None`: as many as the data set has, and without end where it is made up. ShareGPT and
    /// custom files have been read to their end when this returns, others are read along with the asks.
    pub fn asks(&self, seed: u64, count: Option<u64>) -> Result<Asks, DataError> {
        Ok(match self {
            Self::ShareGpt(set) => Asks::sound(set.asks(seed, count)?),
            Self::Custom(set) => Asks::sound(set.asks(seed, count)?),
            Self::Random(set) => Asks::sound(set.asks(seed, count)?),
            Self::PrefixRepetition(set) => Asks::sound(set.asks(seed, count)?),
            Self::Conversation(set) => {
                let mut turns = set.turns(seed)?;
                let count = count.unwrap_or(u64::MAX);
                Asks::new((0..count).map_while(move |_| turns.advance().transpose()))
            }
            Self::Trace(set) => Asks::new(set.asks(seed, count)?),
            Self::Record(set) => Asks::sound(set.asks(seed, count)?),
        })
    }
}

/// The asks of a data set, in the order in which they are to be sent. An error is the last of them.
pub struct Asks {
    asks: Option<Box<dyn Iterator<Item = Result<Ask, DataError>> + Send>>,
}

impl Asks {
    fn new(asks: impl Iterator<Item = Result<Ask, DataError>> + Send + 'static) -> Self {
        Self { asks: Some(Box::new(asks)) }
    }

    fn sound(asks: impl Iterator<Item = Ask> + Send + 'static) -> Self {
        Self::new(asks.map(Ok))
    }
}

impl Iterator for Asks {
    type Item = Result<Ask, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.asks.as_mut()?.next();
        if !matches!(next, Some(Ok(_))) {
            self.asks = None;
        }
        next
    }
}

impl std::fmt::Debug for Asks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asks").field("ended", &self.asks.is_none()).finish_non_exhaustive()
    }
}
