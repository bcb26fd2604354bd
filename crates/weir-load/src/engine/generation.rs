//! What an answer says: the tokens of each choice, made up from the request's draw.

use super::ask::{Ask, Content};
use crate::draw;

/// Words in the form they have inside a JSON string. Some are raw UTF-8, some hold escapes, needed
/// and needless ones, so that an observer that re-encodes what it passes on is found out.
const WORDS: [&str; 14] = [
    " weir",
    " river",
    " flow",
    r" caf\u00e9",
    " 川",
    " naïve",
    r#" \"sluice\""#,
    r"\nbank",
    " 🌊",
    r" \/left",
    " crest",
    r"\tgauge",
    r" back\\water",
    " überfall",
];

/// An answer that is being generated.
#[derive(Clone, Debug)]
pub(crate) struct Generation {
    pub(crate) ask: Ask,
    /// The response's id.
    pub(crate) id: String,
    /// Chooses the words.
    pub(crate) wording: u64,
}

/// What one chunk adds to a choice; texts are in the form they have inside a JSON string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fragment {
    Text(String),
    Reasoning(&'static str, String),
    /// The call's id and function, and the beginning of its arguments.
    ToolOpening {
        id: String,
        function: String,
        arguments: &'static str,
    },
    ToolArguments(String),
}

/// Token counts as the API reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) prompt: u64,
    pub(crate) completion: u64,
    pub(crate) reasoning: Option<u64>,
}

impl Generation {
    /// How many chunks each choice has.
    pub(crate) fn steps(&self) -> u32 {
        self.ask.tokens.div_ceil(self.ask.tokens_per_chunk)
    }

    /// Tokens of one choice that the first `steps` chunks carry.
    pub(crate) fn tokens_after(&self, steps: u32) -> u32 {
        steps.saturating_mul(self.ask.tokens_per_chunk).min(self.ask.tokens)
    }

    /// The chunk number `step` of a choice.
    pub(crate) fn fragment(&self, choice: u32, step: u32) -> Fragment {
        match &self.ask.content {
            Content::Reasoning(field) if step < self.reasoning_steps() => {
                Fragment::Reasoning(field.key(), self.text(choice, step))
            }
            Content::Text | Content::Reasoning(_) => Fragment::Text(self.text(choice, step)),
            Content::ToolCall(function) => self.tool_fragment(function, choice, step),
        }
    }

    /// Why a choice ends.
    pub(crate) fn finish_reason(&self) -> &'static str {
        match self.ask.content {
            _ if self.ask.cut => "length",
            Content::ToolCall(_) => "tool_calls",
            Content::Text | Content::Reasoning(_) => "stop",
        }
    }

    /// Usage of `choices` choices after `steps` chunks each.
    pub(crate) fn usage(&self, choices: u32, steps: u32) -> Usage {
        let times = u64::from(choices);
        let reasoning = self.tokens_after(steps.min(self.reasoning_steps()));
        Usage {
            prompt: self.ask.prompt_tokens,
            completion: times * u64::from(self.tokens_after(steps)),
            reasoning: matches!(self.ask.content, Content::Reasoning(_))
                .then(|| times * u64::from(reasoning)),
        }
    }

    /// Chunks that carry reasoning: the first half.
    fn reasoning_steps(&self) -> u32 {
        match self.ask.content {
            Content::Reasoning(_) => self.steps() / 2,
            Content::Text | Content::ToolCall(_) => 0,
        }
    }

    fn text(&self, choice: u32, step: u32) -> String {
        (self.tokens_after(step)..self.tokens_after(step + 1))
            .map(|token| self.token(choice, token))
            .collect()
    }

    /// One token. Its number makes it differ from every other one of its choice.
    fn token(&self, choice: u32, token: u32) -> String {
        let key = (u64::from(choice) << 32) | u64::from(token);
        let pick = draw::mix(self.wording ^ key) % WORDS.len() as u64;
        let word = WORDS.get(pick as usize).copied().unwrap_or_default();
        format!("{word}{token}")
    }

    /// The arguments are `{"note":"..."}` in pieces, so that only all of them together are JSON.
    fn tool_fragment(&self, function: &str, choice: u32, step: u32) -> Fragment {
        let last = step + 1 == self.steps();
        if step == 0 {
            let digits = draw::mix(self.wording ^ u64::from(choice));
            return Fragment::ToolOpening {
                id: format!("call_{digits:016x}"),
                function: function.to_owned(),
                arguments: if last { "{}" } else { "" },
            };
        }
        let opening = if step == 1 { r#"{"note":""# } else { "" };
        let closing = if last { r#""}"# } else { "" };
        let text = self.text(choice, step);
        Fragment::ToolArguments(escape(&format!("{opening}{text}{closing}")))
    }
}

/// A text as it stands inside a JSON string.
pub(crate) fn escape(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::engine::ask::Api;
    use crate::engine::config::{Behaviour, Length, ReasoningField};

    fn generation(tokens: u32, tokens_per_chunk: u32, content: Content) -> Generation {
        let behaviour = Behaviour { length: Length::Own(tokens), tokens_per_chunk, ..Behaviour::default() };
        let mut ask = Ask::parse(Api::Chat, b"{}", &behaviour, "sim").unwrap();
        ask.content = content;
        Generation { ask, id: "chatcmpl-1".into(), wording: 42 }
    }

    fn decoded(literal: &str) -> String {
        serde_json::from_str(&format!("\"{literal}\"")).unwrap()
    }

    #[test]
    fn every_token_is_valid_json_and_differs_from_the_others() {
        let generation = generation(200, 1, Content::Text);
        let mut texts: Vec<String> = (0..200).map(|step| decoded(&generation.text(0, step))).collect();
        texts.sort();
        texts.dedup();
        assert_eq!(texts.len(), 200);
    }

    #[test]
    fn chunks_hold_their_share_of_the_tokens() {
        let generation = generation(10, 4, Content::Text);
        assert_eq!(generation.steps(), 3);
        assert_eq!([0, 1, 2, 3].map(|steps| generation.tokens_after(steps)), [0, 4, 8, 10]);
        let all: String = (0..3).map(|step| generation.text(0, step)).collect();
        let one_by_one: String = (0..10).map(|token| generation.token(0, token)).collect();
        assert_eq!(all, one_by_one);
    }

    #[test]
    fn reasoning_comes_first_and_is_counted() {
        let generation = generation(9, 2, Content::Reasoning(ReasoningField::Reasoning));
        let reasoning = |step| matches!(generation.fragment(0, step), Fragment::Reasoning("reasoning", _));
        assert_eq!([0, 1, 2, 3, 4].map(reasoning), [true, true, false, false, false]);
        let usage = Usage { prompt: 1, completion: 18, reasoning: Some(8) };
        assert_eq!(generation.usage(2, 5), usage);
    }

    #[test]
    fn tool_arguments_are_json_when_put_together() {
        for tokens in [1, 2, 3, 40] {
            let generation = generation(tokens, 1, Content::ToolCall("gauge".into()));
            let mut arguments = String::new();
            for step in 0..tokens {
                match generation.fragment(0, step) {
                    Fragment::ToolOpening { function, arguments: opening, .. } => {
                        assert_eq!((step, function.as_str()), (0, "gauge"));
                        arguments.push_str(opening);
                    }
                    Fragment::ToolArguments(piece) => arguments.push_str(&decoded(&piece)),
                    other => panic!("{other:?}"),
                }
            }
            let parsed: Value = serde_json::from_str(&arguments).unwrap();
            assert!(parsed.is_object());
            assert_eq!(parsed.get("note").is_some(), tokens > 1);
        }
    }

    #[test]
    fn escaping_keeps_quotes_at_the_ends() {
        assert_eq!(escape("\"a\"\n"), "\\\"a\\\"\\n");
        assert_eq!(escape(""), "");
    }
}
