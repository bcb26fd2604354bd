//! What is asked: a mix of request shapes with random lengths, and some clients who leave early.

use rand::Rng;
use rand::rngs::StdRng;
use serde_json::{Value, json};

use crate::arrival::Arrival;
use crate::draw;

/// Words of a prompt.
const PROMPT: [&str; 8] = ["how", "high", "does", "the", "river", "stand", "at", "dawn"];

/// A load: when requests come and what they are.
#[derive(Clone, Debug)]
pub struct Workload {
    /// When requests arrive.
    pub arrival: Arrival,
    /// The most requests that run at once. An arrival that finds no room waits, and is counted.
    pub max_in_flight: usize,
    /// The model that every request names.
    pub model: String,
    /// Request shapes with their weights. An empty mix, or one without weight, sends chat streams.
    pub mix: Vec<(Shape, u32)>,
    /// The shortest and the longest answer asked for, in tokens.
    pub tokens: (u32, u32),
    /// The share of streams, between 0 and 1, whose client leaves before the end.
    pub leaving: f64,
}

/// The shape of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// A chat stream with usage at its end.
    ChatStream,
    /// A chat answer in one piece.
    ChatWhole,
    /// A stream of the older completions endpoint.
    CompletionStream,
    /// A chat stream that reasons first.
    Reasoning,
    /// A chat stream that calls a tool.
    ToolCall,
    /// A chat stream of two choices.
    TwoChoices,
    /// A stream of OpenAI's Responses.
    Responses,
    /// A stream of Anthropic's Messages.
    Messages,
    /// A chat stream of Ollama's own API, a JSON document a line.
    Ollama,
    /// Vectors of a text.
    Embeddings,
}

/// One request, ready to be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Its shape.
    pub shape: Shape,
    /// The endpoint's path.
    pub path: &'static str,
    /// The JSON body.
    pub body: Value,
    /// The client leaves after so many events.
    pub leave_after: Option<u32>,
}

impl Workload {
    /// The demo's mix: mostly chat streams, a little of everything, one client in twenty leaves.
    pub fn demo(model: &str, arrival: Arrival) -> Self {
        Workload {
            arrival,
            max_in_flight: 256,
            model: model.to_owned(),
            mix: vec![
                (Shape::ChatStream, 38),
                (Shape::ChatWhole, 10),
                (Shape::CompletionStream, 8),
                (Shape::Reasoning, 8),
                (Shape::ToolCall, 8),
                (Shape::TwoChoices, 4),
                (Shape::Responses, 8),
                (Shape::Messages, 8),
                (Shape::Ollama, 4),
                (Shape::Embeddings, 4),
            ],
            tokens: (16, 160),
            leaving: 0.05,
        }
    }

    /// The `ordinal`-th request under `seed`.
    pub fn request(&self, seed: u64, ordinal: u64) -> Request {
        let mut rng = draw::generator(seed, ordinal);
        let shape = self.shape(&mut rng);
        let (shortest, longest) = self.tokens;
        let tokens = rng.random_range(shortest.max(1)..=longest.max(shortest).max(1));
        let words = rng.random_range(4..=40);
        let prompt: Vec<&str> = (0..words).map(|_| PROMPT[rng.random_range(0..PROMPT.len())]).collect();
        // Drawn for every shape, so that a change of the mix changes nothing else.
        let leaves = rng.random_bool(self.leaving.clamp(0.0, 1.0));
        let leave_after = rng.random_range(1..=tokens);
        Request {
            shape,
            path: shape.path(),
            body: shape.body(&self.model, &prompt.join(" "), tokens),
            leave_after: (leaves && shape.streams()).then_some(leave_after),
        }
    }

    fn shape(&self, rng: &mut StdRng) -> Shape {
        let total: u32 = self.mix.iter().map(|(_, weight)| weight).sum();
        let mut draw = rng.random_range(0..total.max(1));
        for &(shape, weight) in &self.mix {
            if draw < weight {
                return shape;
            }
            draw -= weight;
        }
        Shape::ChatStream
    }
}

impl Shape {
    /// Whether the answer is a stream.
    pub fn streams(self) -> bool {
        !matches!(self, Shape::ChatWhole | Shape::Embeddings)
    }

    fn path(self) -> &'static str {
        match self {
            Shape::CompletionStream => "/v1/completions",
            Shape::Responses => "/v1/responses",
            Shape::Messages => "/v1/messages",
            Shape::Ollama => "/api/chat",
            Shape::Embeddings => "/v1/embeddings",
            _ => "/v1/chat/completions",
        }
    }

    fn body(self, model: &str, prompt: &str, tokens: u32) -> Value {
        let messages = json!([{"role": "user", "content": prompt}]);
        match self {
            Shape::Responses => json!(
                {"model": model, "max_output_tokens": tokens, "input": prompt, "stream": true}
            ),
            Shape::Messages => json!(
                {"model": model, "max_tokens": tokens, "messages": messages, "stream": true}
            ),
            Shape::Ollama => {
                json!({"model": model, "messages": messages, "options": {"num_predict": tokens}})
            }
            Shape::Embeddings => json!({"model": model, "input": prompt}),
            _ => self.openai_body(model, prompt, &messages, tokens),
        }
    }

    fn openai_body(self, model: &str, prompt: &str, messages: &Value, tokens: u32) -> Value {
        let mut body = json!({"model": model, "max_tokens": tokens});
        if self == Shape::CompletionStream {
            body["prompt"] = json!(prompt);
        } else {
            body["messages"] = messages.clone();
        }
        if self.streams() {
            body["stream"] = json!(true);
            body["stream_options"] = json!({"include_usage": true});
        }
        match self {
            Shape::Reasoning => body["reasoning_effort"] = json!("medium"),
            Shape::ToolCall => {
                body["tools"] = json!([{"type": "function", "function": {
                    "name": "read_gauge",
                    "parameters": {"type": "object", "properties": {"note": {"type": "string"}}},
                }}]);
                body["tool_choice"] = json!("required");
            }
            Shape::TwoChoices => body["n"] = json!(2),
            _ => {}
        }
        body
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn demo() -> Workload {
        Workload::demo("sim", Arrival::Closed { clients: 1 })
    }

    #[test]
    fn the_seed_and_the_ordinal_decide() {
        assert_eq!(demo().request(1, 2), demo().request(1, 2));
        assert_ne!(demo().request(1, 2), demo().request(1, 3));
        assert_ne!(demo().request(1, 2), demo().request(2, 2));
    }

    #[test]
    fn the_mix_is_kept() {
        let mut seen: HashMap<Shape, u32> = HashMap::new();
        for ordinal in 0..10_000 {
            *seen.entry(demo().request(1, ordinal).shape).or_default() += 1;
        }
        for (shape, weight) in demo().mix {
            let share = f64::from(seen[&shape]) / 10_000.0;
            assert!((share - f64::from(weight) / 100.0).abs() < 0.02, "{shape:?}: {share}");
        }
    }

    #[test]
    fn lengths_stay_within_their_bounds_and_some_clients_leave() {
        let requests: Vec<Request> = (0..2000).map(|ordinal| demo().request(1, ordinal)).collect();
        for request in &requests {
            let body = &request.body;
            let asked = [&body["max_tokens"], &body["max_output_tokens"], &body["options"]["num_predict"]];
            match asked.iter().find_map(|tokens| tokens.as_u64()) {
                Some(tokens) => assert!((16..=160).contains(&tokens)),
                None => assert_eq!(request.shape, Shape::Embeddings),
            }
            assert!(request.leave_after.is_none() || request.shape.streams());
        }
        let leaving = requests.iter().filter(|request| request.leave_after.is_some()).count();
        assert!((40..160).contains(&leaving), "{leaving} of 2000 leave");
    }

    #[test]
    fn shapes_ask_for_what_they_are_named_after() {
        let body = |shape: Shape| shape.body("sim", "hello", 5);
        assert_eq!(
            body(Shape::ChatWhole),
            json!({"model": "sim", "max_tokens": 5, "messages": [{"role": "user", "content": "hello"}]})
        );
        assert_eq!(body(Shape::CompletionStream)["prompt"], "hello");
        assert_eq!(body(Shape::TwoChoices)["n"], 2);
        assert_eq!(body(Shape::ToolCall)["tool_choice"], "required");
        assert_eq!(body(Shape::Reasoning)["stream_options"]["include_usage"], true);
    }

    #[test]
    fn an_empty_mix_sends_chat_streams() {
        let workload = Workload { mix: Vec::new(), ..demo() };
        assert_eq!(workload.request(1, 1).shape, Shape::ChatStream);
    }
}
