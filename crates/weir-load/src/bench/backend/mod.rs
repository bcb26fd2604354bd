//! The APIs that the bench speaks: what each is asked with, and how its answers are read.

use std::fmt;
use std::str::FromStr;

pub use self::body::{BodyOptions, UsageWanted};
pub use self::reader::{Malformed, Output, Piece, Reader};
pub(crate) use self::told::short;
pub use self::told::{Server, Told, Usage};

mod body;
mod chat;
mod completions;
mod fields;
mod messages;
mod reader;
mod responses;
mod told;

/// An API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Backend {
    /// OpenAI's chat completions.
    Chat,
    /// OpenAI's text completions.
    Completions,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Messages,
}

impl Backend {
    /// Every API.
    pub const ALL: [Backend; 4] =
        [Backend::Chat, Backend::Completions, Backend::Responses, Backend::Messages];

    /// The path of its endpoint.
    pub fn path(self) -> &'static str {
        match self {
            Backend::Chat => "/v1/chat/completions",
            Backend::Completions => "/v1/completions",
            Backend::Responses => "/v1/responses",
            Backend::Messages => "/v1/messages",
        }
    }

    /// Its name, as `vllm bench serve` has it where it knows the API.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Chat => "openai-chat",
            Backend::Completions => "openai",
            Backend::Responses => "openai-responses",
            Backend::Messages => "messages",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Backend {
    type Err = UnknownBackend;

    /// Takes the names of `vllm bench serve` and the plain ones.
    fn from_str(name: &str) -> Result<Self, UnknownBackend> {
        match name {
            "openai-chat" | "chat" => Ok(Backend::Chat),
            "openai" | "vllm" | "completions" => Ok(Backend::Completions),
            "openai-responses" | "responses" => Ok(Backend::Responses),
            "anthropic" | "messages" => Ok(Backend::Messages),
            _ => Err(UnknownBackend(name.to_owned())),
        }
    }
}

/// A name that no API of the bench has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownBackend(String);

impl fmt::Display for UnknownBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no backend: allowed are openai-chat (chat), openai (vllm, completions), \
             openai-responses (responses) and messages (anthropic)",
            self.0
        )
    }
}

impl std::error::Error for UnknownBackend {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_back() {
        for backend in Backend::ALL {
            assert_eq!(backend.name().parse(), Ok(backend));
        }
        assert_eq!("vllm".parse(), Ok(Backend::Completions));
        let unknown = "tgi".parse::<Backend>().unwrap_err();
        assert!(unknown.to_string().starts_with("`tgi` is no backend"));
    }
}
