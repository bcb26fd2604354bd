//! The APIs that Weir understands, and what it takes from their requests and events.

pub(crate) mod openai_chunk;
mod request;

pub use request::RequestPeek;

use serde::{Deserialize, Serialize};

/// An API dialect, told from method and path alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Dialect {
    /// OpenAI chat completions.
    #[serde(rename = "openai_chat")]
    Chat,
    /// OpenAI legacy completions.
    #[serde(rename = "openai_completions")]
    Completions,
    /// OpenAI embeddings.
    #[serde(rename = "openai_embeddings")]
    Embeddings,
    /// Anything else: passed on, and observed as bytes.
    #[serde(rename = "other")]
    Other,
}

impl Dialect {
    /// The dialect of a request. Only the end of the path counts, so that any base path will do.
    pub fn of(method: &str, path: &str) -> Self {
        if method != "POST" {
            return Self::Other;
        }
        let path = path.split(['?', '#']).next().unwrap_or(path);
        let path = path.strip_suffix('/').unwrap_or(path);
        if path.ends_with("/chat/completions") {
            Self::Chat
        } else if path.ends_with("/completions") {
            Self::Completions
        } else if path.ends_with("/embeddings") {
            Self::Embeddings
        } else {
            Self::Other
        }
    }

    /// The name as it stands in records and labels.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "openai_chat",
            Self::Completions => "openai_completions",
            Self::Embeddings => "openai_embeddings",
            Self::Other => "other",
        }
    }

    /// Whether its answers are generated token by token.
    pub const fn is_generation(self) -> bool {
        matches!(self, Self::Chat | Self::Completions)
    }
}

#[cfg(test)]
mod tests {
    use super::Dialect;

    #[test]
    fn the_end_of_the_path_tells() {
        for (path, expected) in [
            ("/v1/chat/completions", Dialect::Chat),
            ("/openai/deployments/d/chat/completions?api-version=1", Dialect::Chat),
            ("/v1/chat/completions/", Dialect::Chat),
            ("/v1/completions", Dialect::Completions),
            ("/base/v1/embeddings", Dialect::Embeddings),
            ("/v1/responses", Dialect::Other),
            ("/v1/mycompletions", Dialect::Other),
            ("/v1/models?x=/chat/completions", Dialect::Other),
            ("", Dialect::Other),
        ] {
            assert_eq!(Dialect::of("POST", path), expected, "{path}");
        }
        assert_eq!(Dialect::of("GET", "/v1/chat/completions"), Dialect::Other);
        assert_eq!(Dialect::of("OPTIONS", "/v1/chat/completions"), Dialect::Other);
    }
}
