//! One request as a data set describes it, before any backend puts it into words of its own.

use std::time::Duration;

/// What is to be asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// What the model is shown.
    pub prompt: Prompt,
    /// The model to name, where the data set tells; else the one of the run.
    pub model: Option<String>,
    /// How long the prompt is meant to be, in tokens, where the data set tells.
    pub input_tokens: Option<u32>,
    /// How long the answer may get, in tokens, where the data set tells; else what the run says.
    pub output_tokens: Option<u32>,
    /// When it is to be sent, after the start of the run; `None`: when the run's own arrivals say.
    pub at: Option<Duration>,
    /// When its client leaves; `None`: it stays to the end.
    pub leave: Option<Leave>,
    /// Whether the answer is to be a stream.
    pub stream: bool,
    /// The conversation that it is a turn of.
    pub turn: Option<Turn>,
}

/// What the model is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// A text: the prompt of a completion, the one message of a chat.
    Text(String),
    /// Messages in their order.
    Messages(Vec<Message>),
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// `system`, `user` or `assistant`.
    pub role: String,
    /// Its text.
    pub content: String,
}

/// When a client leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Leave {
    /// So long after it has sent its request.
    After(Duration),
    /// After so many events that carry output.
    AfterOutput(u32),
}

/// A turn of a conversation. It is sent when the one before it was answered, with that answer in the place of
/// the data set's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Which conversation.
    pub conversation: u64,
    /// The how manyth turn, from 0.
    pub nth: u32,
    /// How long after the answer before it.
    pub pause: Duration,
}

impl Ask {
    /// A stream of any length that is asked for with a text.
    pub fn new(prompt: impl Into<String>) -> Self {
        Self {
            prompt: Prompt::Text(prompt.into()),
            model: None,
            input_tokens: None,
            output_tokens: None,
            at: None,
            leave: None,
            stream: true,
            turn: None,
        }
    }
}
