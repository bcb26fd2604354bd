//! The APIs that the engine speaks: which endpoint is which, and how each one writes its answers.

use http::Method;

use super::ask::Terms;
use super::call::Call;
use super::refusal::{ErrorShape, Refusal};
use script::Request;

mod audio;
mod blocks;
mod chat;
mod completions;
mod logprobs;
pub(crate) mod messages;
pub(crate) mod ollama;
mod openai;
mod responses;
pub(crate) mod script;
#[cfg(test)]
mod tests;
pub(crate) mod tgi;

/// What an endpoint does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// It generates an answer.
    Generate(Api),
    /// It works something out without generating.
    Compute(Compute),
    /// It shows something of the engine.
    Show(Page),
}

/// An API that generates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    Chat,
    Completions,
    Responses,
    Messages,
    Ollama(ollama::Endpoint),
    Tgi(tgi::Endpoint),
    Audio(audio::Task),
}

/// What is worked out without generating.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compute {
    Embeddings,
    OllamaEmbed,
    Rerank,
    Score,
    Tokenize,
    Detokenize,
    CountTokens,
}

/// What is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    Models,
    Health,
    Version,
    Load,
    Metrics,
    OllamaTags,
    OllamaVersion,
    TgiInfo,
}

/// The path under which each model has a page of its own.
pub(crate) const MODEL: &str = "/v1/models/";

/// Every path but those of single models.
const PATHS: &[(&str, &[(Method, Endpoint)])] = &[
    ("/v1/chat/completions", &[(Method::POST, Endpoint::Generate(Api::Chat))]),
    ("/v1/completions", &[(Method::POST, Endpoint::Generate(Api::Completions))]),
    ("/v1/responses", &[(Method::POST, Endpoint::Generate(Api::Responses))]),
    ("/v1/messages", &[(Method::POST, Endpoint::Generate(Api::Messages))]),
    ("/v1/messages/count_tokens", &[(Method::POST, Endpoint::Compute(Compute::CountTokens))]),
    (
        "/v1/audio/transcriptions",
        &[(Method::POST, Endpoint::Generate(Api::Audio(audio::Task::Transcription)))],
    ),
    ("/v1/audio/translations", &[(Method::POST, Endpoint::Generate(Api::Audio(audio::Task::Translation)))]),
    ("/v1/embeddings", &[(Method::POST, Endpoint::Compute(Compute::Embeddings))]),
    ("/rerank", &[(Method::POST, Endpoint::Compute(Compute::Rerank))]),
    ("/v1/rerank", &[(Method::POST, Endpoint::Compute(Compute::Rerank))]),
    ("/v2/rerank", &[(Method::POST, Endpoint::Compute(Compute::Rerank))]),
    ("/score", &[(Method::POST, Endpoint::Compute(Compute::Score))]),
    ("/v1/score", &[(Method::POST, Endpoint::Compute(Compute::Score))]),
    ("/tokenize", &[(Method::POST, Endpoint::Compute(Compute::Tokenize))]),
    ("/detokenize", &[(Method::POST, Endpoint::Compute(Compute::Detokenize))]),
    ("/v1/models", &[(Method::GET, Endpoint::Show(Page::Models))]),
    ("/health", &[(Method::GET, Endpoint::Show(Page::Health))]),
    ("/ping", &[(Method::GET, Endpoint::Show(Page::Health)), (Method::POST, Endpoint::Show(Page::Health))]),
    ("/version", &[(Method::GET, Endpoint::Show(Page::Version))]),
    ("/metrics", &[(Method::GET, Endpoint::Show(Page::Metrics))]),
    ("/load", &[(Method::GET, Endpoint::Show(Page::Load))]),
    ("/api/chat", &[(Method::POST, Endpoint::Generate(Api::Ollama(ollama::Endpoint::Chat)))]),
    ("/api/generate", &[(Method::POST, Endpoint::Generate(Api::Ollama(ollama::Endpoint::Generate)))]),
    ("/api/embed", &[(Method::POST, Endpoint::Compute(Compute::OllamaEmbed))]),
    ("/api/tags", &[(Method::GET, Endpoint::Show(Page::OllamaTags))]),
    ("/api/version", &[(Method::GET, Endpoint::Show(Page::OllamaVersion))]),
    ("/generate", &[(Method::POST, Endpoint::Generate(Api::Tgi(tgi::Endpoint::Generate)))]),
    ("/generate_stream", &[(Method::POST, Endpoint::Generate(Api::Tgi(tgi::Endpoint::Stream)))]),
    (
        "/",
        &[
            (Method::POST, Endpoint::Generate(Api::Tgi(tgi::Endpoint::Either))),
            (Method::GET, Endpoint::Show(Page::Health)),
        ],
    ),
    ("/info", &[(Method::GET, Endpoint::Show(Page::TgiInfo))]),
];

impl Endpoint {
    /// The endpoint at a path, or why there is none.
    pub(crate) fn of(method: &Method, path: &str) -> Result<Self, Refusal> {
        if method == Method::GET && path.starts_with(MODEL) {
            return Ok(Endpoint::Show(Page::Models));
        }
        let Some((_, methods)) = PATHS.iter().find(|(known, _)| *known == path) else {
            return Err(Refusal::unknown_path());
        };
        let found = methods.iter().find(|(known, _)| known == method);
        found.map(|(_, endpoint)| *endpoint).ok_or_else(Refusal::wrong_method)
    }
}

/// The methods of a path, as the `allow` header lists them.
pub(crate) fn allowed(path: &str) -> String {
    let methods = PATHS.iter().filter(|(known, _)| *known == path).flat_map(|(_, methods)| *methods);
    let names: Vec<&str> = methods.map(|(method, _)| method.as_str()).collect();
    names.join(", ")
}

impl ErrorShape {
    /// The shape of the errors at a path.
    pub(crate) fn of(path: &str) -> Self {
        match path {
            "/v1/messages" | "/v1/messages/count_tokens" => ErrorShape::Anthropic,
            "/" | "/generate" | "/generate_stream" | "/info" => ErrorShape::Tgi,
            _ if path.starts_with("/api/") => ErrorShape::Ollama,
            _ => ErrorShape::OpenAi,
        }
    }
}

impl Api {
    /// Reads a request.
    pub(crate) fn read(self, call: &Call, model: &str) -> Result<Request, Refusal> {
        let terms = Terms { behaviour: &call.behaviour, model, id: &call.draw.id };
        let body = &call.body;
        match self {
            Api::Chat => chat::read(body, &terms),
            Api::Completions => completions::read(body, &terms),
            Api::Responses => responses::read(body, &terms),
            Api::Messages => messages::read(body, &terms),
            Api::Ollama(endpoint) => ollama::read(body, endpoint, &terms),
            Api::Tgi(endpoint) => tgi::read(body, endpoint, &terms),
            Api::Audio(task) => {
                let content_type = call.headers.get(http::header::CONTENT_TYPE);
                let content_type = content_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
                audio::read(content_type, body, task, &terms)
            }
        }
    }

    /// Its name in the truth.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Api::Chat => "chat",
            Api::Completions => "completions",
            Api::Responses => "responses",
            Api::Messages => "messages",
            Api::Ollama(ollama::Endpoint::Chat) => "ollama_chat",
            Api::Ollama(ollama::Endpoint::Generate) => "ollama_generate",
            Api::Tgi(_) => "tgi",
            Api::Audio(audio::Task::Transcription) => "transcription",
            Api::Audio(audio::Task::Translation) => "translation",
        }
    }
}
