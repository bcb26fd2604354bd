//! What an answer tells besides its output: usage, its end, an error.

use serde::{Deserialize, Serialize};

use super::fields::or_default;

/// The longest message of an error that is kept, in bytes.
const MAX_MESSAGE: usize = 300;

/// Token counts of one answer, as the server told them; what it did not tell is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt, the cached ones among them.
    pub input: Option<u64>,
    /// Tokens of the answer, the reasoning among them.
    pub output: Option<u64>,
    /// Tokens of the prompt that came out of a cache.
    pub cached: Option<u64>,
    /// Tokens of the answer that are reasoning.
    pub reasoning: Option<u64>,
}

impl Usage {
    /// Later counts take the place of earlier ones: they are cumulative in every API.
    pub(super) fn update(&mut self, later: Usage) {
        self.input = later.input.or(self.input);
        self.output = later.output.or(self.output);
        self.cached = later.cached.or(self.cached);
        self.reasoning = later.reasoning.or(self.reasoning);
    }
}

/// What vLLM says of a request in its `metrics` (`--enable-per-request-metrics`), in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Server {
    /// From arrival until it was scheduled.
    pub queue_time_ms: Option<f64>,
    /// From then to the first token: the queue is not in it.
    pub time_to_first_token_ms: Option<f64>,
}

/// All that an answer tells besides its output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// Token counts, the last that were told.
    pub usage: Usage,
    /// Output tokens as `vllm bench serve` takes them: the usage of the last event that is no token.
    pub vllm_output: Option<u64>,
    /// Whether the usage comes from llama.cpp's `timings` alone.
    pub is_timed: bool,
    /// Why generation ended.
    pub finish: Option<String>,
    /// What an error in the answer says.
    pub error: Option<String>,
    /// Whether the event came that ends a stream of this API.
    pub is_terminal: bool,
    /// Whether the engine said anything of its own times.
    pub server: Server,
    /// The text of the answer, without reasoning, if it is to be kept.
    pub text: Option<String>,
}

impl Told {
    /// Notes an error; the first one counts.
    pub(super) fn fail(&mut self, message: Option<String>) {
        if self.error.is_none() {
            self.error = message.map(short);
        }
    }

    /// Keeps a part of the text, if it is to be kept.
    pub(super) fn keep(&mut self, part: &str) {
        if let Some(text) = &mut self.text {
            text.push_str(part);
        }
    }
}

/// A message, cut where it is too long.
pub(crate) fn short(mut message: String) -> String {
    if message.len() > MAX_MESSAGE {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE));
        message.push('…');
    }
    message
}

/// `usage` of any API, with every spelling of its members.
#[derive(Debug, Default, Deserialize)]
pub(super) struct WireUsage {
    #[serde(alias = "input_tokens")]
    prompt_tokens: Option<u64>,
    #[serde(alias = "output_tokens")]
    completion_tokens: Option<u64>,
    #[serde(alias = "input_tokens_details", default, deserialize_with = "or_default")]
    prompt_tokens_details: InputDetails,
    #[serde(alias = "output_tokens_details", default, deserialize_with = "or_default")]
    completion_tokens_details: OutputDetails,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
struct InputDetails {
    cached_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
struct OutputDetails {
    reasoning_tokens: Option<u64>,
}

impl WireUsage {
    /// As OpenAI's APIs count: cached tokens are among those of the prompt.
    pub(super) fn inclusive(&self) -> Usage {
        Usage {
            input: self.prompt_tokens,
            output: self.completion_tokens,
            cached: self.prompt_tokens_details.cached_tokens,
            reasoning: self.completion_tokens_details.reasoning_tokens,
        }
    }

    /// As Anthropic's counts: cached tokens come on top.
    pub(super) fn additive(&self) -> Usage {
        let cached = [self.cache_creation_input_tokens, self.cache_read_input_tokens];
        let cached: u64 = cached.into_iter().flatten().sum();
        Usage {
            input: self.prompt_tokens.map(|tokens| tokens.saturating_add(cached)),
            cached: self.cache_read_input_tokens,
            ..self.inclusive()
        }
    }
}

/// llama.cpp's `timings`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Timings {
    prompt_n: Option<u64>,
    cache_n: Option<u64>,
    predicted_n: Option<u64>,
}

impl Timings {
    pub(super) fn usage(self) -> Usage {
        let input = self.prompt_n.map(|tokens| tokens + self.cache_n.unwrap_or(0));
        Usage { input, output: self.predicted_n, cached: self.cache_n, reasoning: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(json: &str) -> WireUsage {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn the_usage_of_each_api_is_read() {
        let chat = wire(
            r#"{"prompt_tokens":9,"completion_tokens":12,"prompt_tokens_details":{"cached_tokens":4},
                "completion_tokens_details":{"reasoning_tokens":3},"total_tokens":21}"#,
        );
        let expected = Usage { input: Some(9), output: Some(12), cached: Some(4), reasoning: Some(3) };
        assert_eq!(chat.inclusive(), expected);
        let responses = wire(r#"{"input_tokens":9,"output_tokens":12,"input_tokens_details":null}"#);
        let expected = Usage { input: Some(9), output: Some(12), cached: None, reasoning: None };
        assert_eq!(responses.inclusive(), expected);
        let messages =
            wire(r#"{"input_tokens":9,"cache_creation_input_tokens":2,"cache_read_input_tokens":4}"#);
        let expected = Usage { input: Some(15), output: None, cached: Some(4), reasoning: None };
        assert_eq!(messages.additive(), expected);
    }

    #[test]
    fn a_long_message_is_cut_at_a_character() {
        let cut = short("ä".repeat(MAX_MESSAGE));
        assert_eq!(cut.chars().count(), MAX_MESSAGE / 2 + 1);
        assert_eq!(short("no".into()), "no");
    }
}
