//! The APIs that Weir understands, and what it takes from their requests and events.

pub(crate) mod chunk;
pub(crate) mod grammar;
pub(crate) mod messages;
pub(crate) mod ollama;
mod openai_chunk;
mod request;
pub(crate) mod responses;
pub(crate) mod sglang;
mod tgi;
mod transcript;

pub use request::{Prompts, RequestHead, RequestPeek};

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
    /// OpenAI embeddings, and Ollama's.
    #[serde(rename = "openai_embeddings")]
    Embeddings,
    /// OpenAI responses.
    #[serde(rename = "openai_responses")]
    Responses,
    /// Anthropic messages.
    #[serde(rename = "anthropic_messages")]
    Messages,
    /// Ollama's own chat.
    #[serde(rename = "ollama_chat")]
    OllamaChat,
    /// Ollama's own generation.
    #[serde(rename = "ollama_generate")]
    OllamaGenerate,
    /// TGI's own generation; SGLang's stands under the same path.
    #[serde(rename = "tgi_generate")]
    TgiGenerate,
    /// OpenAI transcriptions and translations of audio.
    #[serde(rename = "openai_transcription")]
    Transcription,
    /// Reranking, as Cohere, Jina and vLLM have it.
    #[serde(rename = "rerank")]
    Rerank,
    /// Anything else: passed on, and observed as bytes unless its events tell what they are.
    #[serde(rename = "other")]
    Other,
}

/// The shapes that error bodies have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorShape {
    /// `{"error":{"message":…,"type":…,"param":…,"code":…}}`
    OpenAi,
    /// `{"type":"error","error":{"type":…,"message":…}}`
    Anthropic,
    /// `{"error":"…"}`
    Ollama,
    /// `{"error":"…","error_type":"…"}`
    Tgi,
}

/// Ends of paths with their dialects. The first that fits holds, so the longer stands first.
const PATHS: [(&str, Dialect); 14] = [
    ("/chat/completions", Dialect::Chat),
    ("/completions", Dialect::Completions),
    ("/embeddings", Dialect::Embeddings),
    ("/api/embed", Dialect::Embeddings),
    ("/responses", Dialect::Responses),
    ("/v1/messages", Dialect::Messages),
    ("/api/chat", Dialect::OllamaChat),
    ("/api/generate", Dialect::OllamaGenerate),
    ("/generate", Dialect::TgiGenerate),
    ("/generate_stream", Dialect::TgiGenerate),
    ("/audio/transcriptions", Dialect::Transcription),
    ("/audio/translations", Dialect::Transcription),
    ("/rerank", Dialect::Rerank),
    ("/reranking", Dialect::Rerank),
];

impl Dialect {
    /// The dialect of a request. Only the end of the path counts, so that any base path will do.
    pub fn of(method: &str, path: &str) -> Self {
        if method != "POST" {
            return Self::Other;
        }
        let path = path.split(['?', '#']).next().unwrap_or(path);
        let path = path.strip_suffix('/').unwrap_or(path);
        let known = PATHS.iter().find(|(end, _)| path.ends_with(end));
        known.map_or(Self::Other, |(_, dialect)| *dialect)
    }

    /// The name as it stands in records and labels.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "openai_chat",
            Self::Completions => "openai_completions",
            Self::Embeddings => "openai_embeddings",
            Self::Responses => "openai_responses",
            Self::Messages => "anthropic_messages",
            Self::OllamaChat => "ollama_chat",
            Self::OllamaGenerate => "ollama_generate",
            Self::TgiGenerate => "tgi_generate",
            Self::Transcription => "openai_transcription",
            Self::Rerank => "rerank",
            Self::Other => "other",
        }
    }

    /// Whether its answers are generated token by token.
    pub const fn is_generation(self) -> bool {
        !matches!(self, Self::Embeddings | Self::Rerank | Self::Other)
    }

    /// Whether a request may ask for several choices, in words that we read.
    pub(crate) const fn has_choices(self) -> bool {
        matches!(self, Self::Chat | Self::Completions | Self::TgiGenerate)
    }

    /// The shape in which its clients expect an error.
    pub const fn error_shape(self) -> ErrorShape {
        match self {
            Self::Messages => ErrorShape::Anthropic,
            Self::OllamaChat | Self::OllamaGenerate => ErrorShape::Ollama,
            Self::TgiGenerate => ErrorShape::Tgi,
            _ => ErrorShape::OpenAi,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Dialect, ErrorShape};

    #[test]
    fn the_end_of_the_path_tells() {
        for (path, expected) in [
            ("/v1/chat/completions", Dialect::Chat),
            ("/openai/deployments/d/chat/completions?api-version=1", Dialect::Chat),
            ("/v1/chat/completions/", Dialect::Chat),
            ("/v1/completions", Dialect::Completions),
            ("/base/v1/embeddings", Dialect::Embeddings),
            ("/api/embed", Dialect::Embeddings),
            ("/v1/responses", Dialect::Responses),
            ("/openai/responses?api-version=preview", Dialect::Responses),
            ("/v1/responses/resp_1", Dialect::Other),
            ("/v1/responses/resp_1/cancel", Dialect::Other),
            ("/v1/messages", Dialect::Messages),
            ("/anthropic/v1/messages", Dialect::Messages),
            ("/v1/messages/count_tokens", Dialect::Other),
            ("/v1/messages/batches", Dialect::Other),
            ("/v1/threads/thread_1/messages", Dialect::Other),
            ("/api/chat", Dialect::OllamaChat),
            ("/ollama/api/generate", Dialect::OllamaGenerate),
            ("/generate", Dialect::TgiGenerate),
            ("/generate_stream", Dialect::TgiGenerate),
            ("/v1/audio/transcriptions", Dialect::Transcription),
            ("/v1/audio/translations", Dialect::Transcription),
            ("/v1/audio/speech", Dialect::Other),
            ("/rerank", Dialect::Rerank),
            ("/v1/rerank", Dialect::Rerank),
            ("/v2/rerank", Dialect::Rerank),
            ("/v1/reranking", Dialect::Rerank),
            ("/v1/mycompletions", Dialect::Other),
            ("/v1/degenerate", Dialect::Other),
            ("/v1/models?x=/chat/completions", Dialect::Other),
            ("", Dialect::Other),
        ] {
            assert_eq!(Dialect::of("POST", path), expected, "{path}");
        }
        assert_eq!(Dialect::of("GET", "/v1/chat/completions"), Dialect::Other);
        assert_eq!(Dialect::of("GET", "/v1/responses"), Dialect::Other);
        assert_eq!(Dialect::of("OPTIONS", "/v1/chat/completions"), Dialect::Other);
    }

    #[test]
    fn a_record_has_the_name() {
        for (dialect, name) in [
            (Dialect::Chat, "openai_chat"),
            (Dialect::Completions, "openai_completions"),
            (Dialect::Embeddings, "openai_embeddings"),
            (Dialect::Responses, "openai_responses"),
            (Dialect::Messages, "anthropic_messages"),
            (Dialect::OllamaChat, "ollama_chat"),
            (Dialect::OllamaGenerate, "ollama_generate"),
            (Dialect::TgiGenerate, "tgi_generate"),
            (Dialect::Transcription, "openai_transcription"),
            (Dialect::Rerank, "rerank"),
            (Dialect::Other, "other"),
        ] {
            assert_eq!(dialect.as_str(), name);
            let text = serde_json::to_string(&dialect).unwrap();
            assert_eq!(text, format!("\"{name}\""));
            assert_eq!(serde_json::from_str::<Dialect>(&text).unwrap(), dialect);
        }
    }

    #[test]
    fn what_answers_in_vectors_and_scores_is_no_generation() {
        for dialect in [Dialect::Embeddings, Dialect::Rerank, Dialect::Other] {
            assert!(!dialect.is_generation(), "{dialect:?}");
        }
        for dialect in [Dialect::Responses, Dialect::OllamaGenerate, Dialect::Transcription] {
            assert!(dialect.is_generation(), "{dialect:?}");
        }
    }

    #[test]
    fn errors_come_in_the_shape_of_the_dialect() {
        for (path, expected) in [
            ("/v1/messages", ErrorShape::Anthropic),
            ("/api/chat", ErrorShape::Ollama),
            ("/api/generate", ErrorShape::Ollama),
            ("/generate_stream", ErrorShape::Tgi),
            ("/v1/responses", ErrorShape::OpenAi),
            ("/v1/models", ErrorShape::OpenAi),
        ] {
            assert_eq!(Dialect::of("POST", path).error_shape(), expected, "{path}");
        }
    }
}
