//! A request's body, read and resolved into what is to be generated.

use serde::Deserialize;
use serde_json::Value;

use super::config::{Behaviour, Length, ReasoningField};
use super::refusal::Refusal;

/// The most choices a request may ask for, as OpenAI has it.
const MAX_CHOICES: u32 = 128;

/// The most tokens of one answer, all choices together.
const MAX_TOKENS: u64 = 1 << 20;

/// A completion endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    Chat,
    Completions,
}

/// What is to be generated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) api: Api,
    pub(crate) model: String,
    pub(crate) stream: bool,
    pub(crate) usage: UsageWanted,
    pub(crate) choices: u32,
    /// Tokens of each choice.
    pub(crate) tokens: u32,
    pub(crate) tokens_per_chunk: u32,
    /// Whether the token limit cut the answer.
    pub(crate) cut: bool,
    pub(crate) content: Content,
    /// The prompt, where the answer is to repeat it.
    pub(crate) echo: Option<String>,
    pub(crate) prompt_tokens: u64,
}

/// Which events of a stream carry usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UsageWanted {
    Never,
    AtEnd,
    OnEvery,
}

/// What the tokens of an answer are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Text,
    /// Reasoning in that field for the first half, then text.
    Reasoning(ReasoningField),
    /// A call of that function.
    ToolCall(String),
}

impl Ask {
    /// Reads a body; a model it does not name is `default_model`.
    pub(crate) fn parse(
        api: Api,
        body: &[u8],
        behaviour: &Behaviour,
        default_model: &str,
    ) -> Result<Self, Refusal> {
        let body: Body = serde_json::from_slice(body).map_err(|error| Refusal::invalid(error.to_string()))?;
        let choices = body.n.unwrap_or(1);
        if !(1..=MAX_CHOICES).contains(&choices) {
            return Err(Refusal::invalid(format!("n: allowed are 1 to {MAX_CHOICES}.")));
        }
        let limit = body.max_completion_tokens.or(body.max_tokens);
        if limit == Some(0) {
            return Err(Refusal::invalid("max_tokens: must be at least 1."));
        }
        let (tokens, cut) = length(behaviour.length, limit);
        if u64::from(tokens) * u64::from(choices) > MAX_TOKENS {
            return Err(Refusal::invalid(format!(
                "This model's maximum context length is {MAX_TOKENS} tokens."
            )));
        }
        let prompt = text_of(match api {
            Api::Chat => &body.messages,
            Api::Completions => &body.prompt,
        });
        let echoes = api == Api::Completions && body.echo.unwrap_or(false);
        Ok(Ask {
            api,
            stream: body.stream.unwrap_or(false),
            usage: body.stream_options.as_ref().map_or(UsageWanted::Never, StreamOptions::usage),
            choices,
            tokens,
            tokens_per_chunk: behaviour.tokens_per_chunk.max(1),
            cut,
            content: match api {
                Api::Chat => body.content(behaviour.reasoning),
                Api::Completions => Content::Text,
            },
            prompt_tokens: count_tokens(&prompt),
            echo: echoes.then_some(prompt),
            model: body.model.unwrap_or_else(|| default_model.to_owned()),
        })
    }
}

/// The answer's length under a request's limit, and whether the limit cut it.
fn length(length: Length, limit: Option<u32>) -> (u32, bool) {
    match length {
        Length::AsAsked { otherwise } => (limit.unwrap_or(otherwise).max(1), false),
        Length::Own(own) => {
            let own = own.max(1);
            let tokens = limit.map_or(own, |limit| limit.min(own));
            (tokens, tokens < own)
        }
    }
}

/// The fields of a request that the engine understands.
#[derive(Deserialize)]
struct Body {
    model: Option<String>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
    n: Option<u32>,
    echo: Option<bool>,
    #[serde(default)]
    messages: Value,
    #[serde(default)]
    prompt: Value,
    #[serde(flatten)]
    extras: Extras,
}

/// The fields that decide what an answer consists of.
#[derive(Deserialize)]
struct Extras {
    #[serde(default)]
    tools: Value,
    #[serde(default)]
    tool_choice: Value,
    #[serde(default)]
    chat_template_kwargs: Value,
    reasoning_effort: Option<String>,
}

#[derive(Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
    continuous_usage_stats: Option<bool>,
}

impl StreamOptions {
    /// As in vLLM, usage on every event needs usage at the end as well.
    fn usage(&self) -> UsageWanted {
        match (self.include_usage, self.continuous_usage_stats) {
            (Some(true), Some(true)) => UsageWanted::OnEvery,
            (Some(true), _) => UsageWanted::AtEnd,
            _ => UsageWanted::Never,
        }
    }
}

impl Body {
    fn content(&self, field: ReasoningField) -> Content {
        let extras = &self.extras;
        let first_tool = &extras.tools[0]["function"]["name"];
        let named = &extras.tool_choice["function"]["name"];
        let function = match &extras.tool_choice {
            Value::String(choice) if choice == "required" => first_tool.as_str(),
            _ => named.as_str().filter(|_| !first_tool.is_null()),
        };
        if let Some(function) = function {
            return Content::ToolCall(function.to_owned());
        }
        let effort = extras.reasoning_effort.as_deref().is_some_and(|effort| effort != "none");
        if effort || extras.chat_template_kwargs["enable_thinking"] == true {
            return Content::Reasoning(field);
        }
        Content::Text
    }
}

/// The text in a prompt, whichever of the API's forms it has.
pub(crate) fn text_of(prompt: &Value) -> String {
    match prompt {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of).collect::<Vec<_>>().join(" "),
        Value::Object(part) => {
            part.get("content").or_else(|| part.get("text")).map_or_else(String::new, text_of)
        }
        Value::Number(token) => token.to_string(),
        Value::Null | Value::Bool(_) => String::new(),
    }
}

/// The engine's tokenizer: one token per word, and one to begin with.
pub(crate) fn count_tokens(text: &str) -> u64 {
    1 + text.split_whitespace().count() as u64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn chat(body: Value) -> Result<Ask, Refusal> {
        Ask::parse(Api::Chat, body.to_string().as_bytes(), &Behaviour::default(), "sim")
    }

    #[test]
    fn an_empty_request_gets_the_defaults() {
        let ask = chat(json!({})).unwrap();
        let expected = Ask {
            api: Api::Chat,
            model: "sim".into(),
            stream: false,
            usage: UsageWanted::Never,
            choices: 1,
            tokens: 64,
            tokens_per_chunk: 1,
            cut: false,
            content: Content::Text,
            echo: None,
            prompt_tokens: 1,
        };
        assert_eq!(ask, expected);
    }

    #[test]
    fn a_limit_sets_the_length_or_cuts_it() {
        assert_eq!(length(Length::AsAsked { otherwise: 64 }, Some(5)), (5, false));
        assert_eq!(length(Length::Own(10), Some(5)), (5, true));
        assert_eq!(length(Length::Own(10), Some(10)), (10, false));
        assert_eq!(length(Length::Own(10), None), (10, false));
        assert_eq!(length(Length::Own(0), None), (1, false));
    }

    #[test]
    fn content_follows_the_request() {
        let tools = json!([{"type": "function", "function": {"name": "gauge"}}]);
        let content = |body| chat(body).unwrap().content;
        assert_eq!(content(json!({"tools": tools})), Content::Text);
        assert_eq!(
            content(json!({"tools": tools, "tool_choice": "required"})),
            Content::ToolCall("gauge".into())
        );
        let named = json!({"type": "function", "function": {"name": "other"}});
        assert_eq!(content(json!({"tools": tools, "tool_choice": named})), Content::ToolCall("other".into()));
        let reasoning = Content::Reasoning(ReasoningField::Reasoning);
        assert_eq!(content(json!({"reasoning_effort": "low"})), reasoning);
        assert_eq!(content(json!({"reasoning_effort": "none"})), Content::Text);
        assert_eq!(content(json!({"chat_template_kwargs": {"enable_thinking": true}})), reasoning);
    }

    #[test]
    fn prompt_tokens_are_words_and_one() {
        let parts = json!([{"type": "text", "text": "three more words"}]);
        let ask = chat(json!({"messages": [
            {"role": "system", "content": "be brief"}, {"role": "user", "content": parts},
        ]}));
        assert_eq!(ask.unwrap().prompt_tokens, 6);
    }

    #[test]
    fn usage_is_wanted_as_asked() {
        let usage = |options| chat(json!({"stream_options": options})).unwrap().usage;
        assert_eq!(usage(json!({"include_usage": true})), UsageWanted::AtEnd);
        assert_eq!(usage(json!({"continuous_usage_stats": true})), UsageWanted::Never);
        assert_eq!(
            usage(json!({"include_usage": true, "continuous_usage_stats": true})),
            UsageWanted::OnEvery
        );
    }

    #[test]
    fn what_cannot_be_served_is_refused() {
        for body in [
            json!({"n": 0}),
            json!({"n": 129}),
            json!({"max_tokens": 0}),
            json!({"max_tokens": 2000000}),
            json!({"max_tokens": 20000, "n": 100}),
            json!([]),
        ] {
            assert!(chat(body.clone()).is_err(), "{body}");
        }
        assert!(Ask::parse(Api::Chat, b"{", &Behaviour::default(), "sim").is_err());
    }
}
