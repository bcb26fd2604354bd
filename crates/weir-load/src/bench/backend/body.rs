//! The body of a request.

use serde_json::{Map, Value, json};

use super::Backend;
use crate::bench::ask::{Ask, Message, Prompt};

/// The limit of an answer's length where neither the run nor the data set gives one and the API wants one
/// (Anthropic's does).
const NEEDED_MAX_TOKENS: u32 = 1024;

/// What every request of a run asks for, besides what its data set says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BodyOptions {
    /// The model, where the data set names none.
    pub model: String,
    /// The most tokens of an answer, where the data set does not say.
    pub max_tokens: Option<u32>,
    /// Whether generation goes on to that limit (vLLM's and SGLang's `ignore_eos`).
    pub ignore_eos: bool,
    /// The temperature; the server's own where absent.
    pub temperature: Option<f64>,
    /// Whether streams tell their usage.
    pub usage: UsageWanted,
    /// Members that take the place of ours, or come on top.
    pub extra: Map<String, Value>,
}

/// Whether the streams of chats and completions are asked for their usage; the other APIs tell it anyway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UsageWanted {
    /// In an event of its own at the end, as `vllm bench serve` asks.
    #[default]
    AtEnd,
    /// With every event too (vLLM's `continuous_usage_stats`): tells how many tokens each carries.
    Running,
    /// Not at all, for servers that refuse to be asked.
    Never,
}

impl Backend {
    /// The body of a request: what `vllm bench serve` sends, without members that say nothing
    /// (`repetition_penalty` 1, `logprobs` null) and that other servers may refuse.
    pub fn body(self, ask: &Ask, options: &BodyOptions) -> Vec<u8> {
        let mut body = Map::new();
        let model = ask.model.as_deref().unwrap_or(&options.model);
        body.insert("model".into(), model.into());
        self.show(&ask.prompt, &mut body);
        if let Some(most) = ask.output_tokens.or(options.max_tokens).or(self.needed_limit()) {
            body.insert(self.limit_name().into(), most.into());
        }
        if options.ignore_eos {
            body.insert("ignore_eos".into(), true.into());
        }
        if let Some(temperature) = options.temperature {
            body.insert("temperature".into(), temperature.into());
        }
        body.insert("stream".into(), ask.stream.into());
        if let Some(wanted) = self.stream_options(options.usage).filter(|_| ask.stream) {
            body.insert("stream_options".into(), wanted);
        }
        for (name, value) in &options.extra {
            body.insert(name.clone(), value.clone());
        }
        Value::Object(body).to_string().into_bytes()
    }

    fn show(self, prompt: &Prompt, body: &mut Map<String, Value>) {
        match (self, prompt) {
            (Backend::Completions, prompt) => {
                body.insert("prompt".into(), plain(prompt).into());
            }
            (Backend::Responses, Prompt::Text(text)) => {
                body.insert("input".into(), text.as_str().into());
            }
            (Backend::Responses, Prompt::Messages(messages)) => {
                body.insert("input".into(), messages.iter().map(message).collect());
            }
            (Backend::Chat | Backend::Messages, Prompt::Text(text)) => {
                body.insert("messages".into(), json!([{"role": "user", "content": text}]));
            }
            (Backend::Chat, Prompt::Messages(messages)) => {
                body.insert("messages".into(), messages.iter().map(message).collect());
            }
            (Backend::Messages, Prompt::Messages(messages)) => {
                let (system, rest): (Vec<_>, Vec<_>) =
                    messages.iter().partition(|message| message.role == "system");
                if !system.is_empty() {
                    let texts: Vec<&str> = system.iter().map(|message| message.content.as_str()).collect();
                    body.insert("system".into(), texts.join("\n").into());
                }
                body.insert("messages".into(), rest.into_iter().map(message).collect());
            }
        }
    }

    fn limit_name(self) -> &'static str {
        match self {
            Backend::Chat => "max_completion_tokens",
            Backend::Completions | Backend::Messages => "max_tokens",
            Backend::Responses => "max_output_tokens",
        }
    }

    fn needed_limit(self) -> Option<u32> {
        (self == Backend::Messages).then_some(NEEDED_MAX_TOKENS)
    }

    fn stream_options(self, usage: UsageWanted) -> Option<Value> {
        if !matches!(self, Backend::Chat | Backend::Completions) {
            return None;
        }
        match usage {
            UsageWanted::AtEnd => Some(json!({"include_usage": true})),
            UsageWanted::Running => Some(json!({"include_usage": true, "continuous_usage_stats": true})),
            UsageWanted::Never => None,
        }
    }
}

fn message(message: &Message) -> Value {
    json!({"role": message.role, "content": message.content})
}

/// A prompt as one text.
fn plain(prompt: &Prompt) -> String {
    match prompt {
        Prompt::Text(text) => text.clone(),
        Prompt::Messages(messages) => {
            let texts: Vec<&str> = messages.iter().map(|message| message.content.as_str()).collect();
            texts.join("\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(backend: Backend, ask: &Ask, options: &BodyOptions) -> Value {
        serde_json::from_slice(&backend.body(ask, options)).unwrap()
    }

    fn conversation() -> Ask {
        let message = |role: &str, content: &str| Message { role: role.into(), content: content.into() };
        let messages = vec![message("system", "be"), message("user", "hi")];
        Ask { prompt: Prompt::Messages(messages), ..Ask::new("") }
    }

    #[test]
    fn each_api_is_asked_in_its_own_words() {
        let options = BodyOptions { model: "m".into(), max_tokens: Some(7), ..BodyOptions::default() };
        assert_eq!(
            body(Backend::Chat, &Ask::new("hi"), &options),
            json!({"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": true,
                   "max_completion_tokens": 7, "stream_options": {"include_usage": true}})
        );
        assert_eq!(
            body(Backend::Completions, &conversation(), &options),
            json!({"model": "m", "prompt": "be\nhi", "stream": true, "max_tokens": 7,
                   "stream_options": {"include_usage": true}})
        );
        assert_eq!(
            body(Backend::Responses, &Ask::new("hi"), &options),
            json!({"model": "m", "input": "hi", "stream": true, "max_output_tokens": 7})
        );
        assert_eq!(
            body(Backend::Messages, &conversation(), &options),
            json!({"model": "m", "system": "be", "messages": [{"role": "user", "content": "hi"}],
                   "stream": true, "max_tokens": 7})
        );
    }

    #[test]
    fn the_data_set_goes_before_the_run_and_extras_before_both() {
        let extra = json!({"temperature": 1, "top_k": 3}).as_object().cloned().unwrap();
        let options = BodyOptions {
            model: "m".into(),
            max_tokens: Some(7),
            ignore_eos: true,
            temperature: Some(0.0),
            usage: UsageWanted::Running,
            extra,
        };
        let ask = Ask { model: Some("own".into()), output_tokens: Some(3), ..Ask::new("hi") };
        let sent = body(Backend::Completions, &ask, &options);
        assert_eq!((&sent["model"], &sent["max_tokens"]), (&json!("own"), &json!(3)));
        assert_eq!((&sent["temperature"], &sent["top_k"]), (&json!(1), &json!(3)));
        assert_eq!(sent["ignore_eos"], true);
        assert_eq!(sent["stream_options"]["continuous_usage_stats"], true);
    }

    #[test]
    fn what_is_no_stream_has_no_options_for_one() {
        let ask = Ask { stream: false, ..Ask::new("hi") };
        let sent = body(Backend::Chat, &ask, &BodyOptions::default());
        assert_eq!((&sent["stream"], sent.get("stream_options")), (&json!(false), None));
        assert_eq!(body(Backend::Messages, &ask, &BodyOptions::default())["max_tokens"], 1024);
    }
}
