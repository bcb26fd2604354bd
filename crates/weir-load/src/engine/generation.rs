//! What an answer says: the tokens of each choice, made up from the request's draw.

use super::ask::{Ask, Content};
use super::batch::Cached;
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

/// Size of the vocabulary: every token's id is below it.
const VOCABULARY: u64 = 32_000;

/// An answer that is being generated.
#[derive(Clone, Debug)]
pub(crate) struct Generation {
    pub(crate) ask: Ask,
    /// Chooses the words.
    pub(crate) wording: u64,
    /// Prompt tokens that the engine had in its prefix cache, once it has looked.
    pub(crate) cached: Cached,
}

/// What one chunk adds to a choice; texts are in the form they have inside a JSON string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fragment {
    Text(String),
    Reasoning(String),
    /// The call's id and function, and the beginning of its arguments.
    ToolOpening {
        id: String,
        function: String,
        arguments: &'static str,
    },
    ToolArguments(String),
}

/// All that a choice says; texts are in the form they have inside a JSON string.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) reasoning: String,
    pub(crate) text: String,
    pub(crate) call: Option<ToolCall>,
}

/// A call of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolCall {
    pub(crate) id: String,
    pub(crate) function: String,
    /// A JSON object, in the form it has inside a JSON string.
    pub(crate) arguments: String,
}

/// One token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    /// In the form it has inside a JSON string.
    pub(crate) literal: String,
    pub(crate) id: u64,
    /// Its log probability, below zero.
    pub(crate) logprob: f64,
}

/// Why a choice ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    Stop,
    Length,
    ToolCalls,
}

/// Token counts as the API reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) prompt: u64,
    pub(crate) completion: u64,
    pub(crate) reasoning: Option<u64>,
    /// Prompt tokens from the prefix cache, where that is known.
    pub(crate) cached: Option<u64>,
}

impl Generation {
    /// An answer in these words, which also decide what is left to the model.
    pub(crate) fn new(mut ask: Ask, wording: u64, cached: Cached) -> Self {
        ask.decide(wording);
        Generation { ask, wording, cached }
    }

    /// How many chunks each choice has.
    pub(crate) fn steps(&self) -> u32 {
        self.ask.chunks.count()
    }

    /// Tokens of one choice that the first `steps` chunks carry.
    pub(crate) fn tokens_after(&self, steps: u32) -> u32 {
        self.ask.chunks.tokens_after(steps)
    }

    /// The chunk number `step` of a choice.
    pub(crate) fn fragment(&self, choice: u32, step: u32) -> Fragment {
        match &self.ask.content {
            Content::Reasoning if step < self.reasoning_steps() => {
                Fragment::Reasoning(self.text(choice, step))
            }
            Content::Text | Content::Reasoning => Fragment::Text(self.text(choice, step)),
            Content::ToolCall(function) => self.tool_fragment(function, choice, step),
        }
    }

    /// All that a choice says.
    pub(crate) fn said(&self, choice: u32) -> Said {
        let mut said = Said::default();
        for step in 0..self.steps() {
            match self.fragment(choice, step) {
                Fragment::Text(piece) => said.text.push_str(&piece),
                Fragment::Reasoning(piece) => said.reasoning.push_str(&piece),
                Fragment::ToolOpening { id, function, arguments } => {
                    said.call = Some(ToolCall { id, function, arguments: arguments.to_owned() });
                }
                Fragment::ToolArguments(piece) => {
                    if let Some(call) = &mut said.call {
                        call.arguments.push_str(&piece);
                    }
                }
            }
        }
        said
    }

    /// Why a choice ends.
    pub(crate) fn finish(&self) -> Finish {
        match self.ask.content {
            _ if self.ask.cut => Finish::Length,
            Content::ToolCall(_) => Finish::ToolCalls,
            Content::Text | Content::Reasoning => Finish::Stop,
        }
    }

    /// Usage of `choices` choices after `steps` chunks each.
    pub(crate) fn usage(&self, choices: u32, steps: u32) -> Usage {
        let times = u64::from(choices);
        let reasoning = self.tokens_after(steps.min(self.reasoning_steps()));
        Usage {
            prompt: self.ask.prompt_tokens(),
            completion: times * u64::from(self.tokens_after(steps)),
            reasoning: (self.ask.content == Content::Reasoning).then(|| times * u64::from(reasoning)),
            cached: self.cached.tokens().map(u64::from),
        }
    }

    /// Usage of the whole answer.
    pub(crate) fn total_usage(&self) -> Usage {
        self.usage(self.ask.choices, self.steps())
    }

    /// Chunks that carry reasoning: the first half.
    pub(crate) fn reasoning_steps(&self) -> u32 {
        match self.ask.content {
            Content::Reasoning => self.steps() / 2,
            Content::Text | Content::ToolCall(_) => 0,
        }
    }

    /// The tokens of a chunk, one by one.
    pub(crate) fn tokens(&self, choice: u32, step: u32) -> impl Iterator<Item = Token> {
        (self.tokens_after(step)..self.tokens_after(step + 1)).map(move |token| self.token(choice, token, 0))
    }

    /// A token; a `rank` above zero gives the one that was so much less likely in its place.
    pub(crate) fn token(&self, choice: u32, token: u32, rank: u32) -> Token {
        let bits = draw::mix(self.wording ^ ((u64::from(choice) << 32) | u64::from(token)));
        let pick = (bits + u64::from(rank)) % WORDS.len() as u64;
        let word = WORDS.get(pick as usize).copied().unwrap_or_default();
        // Its number makes a token differ from every other one of its choice.
        let number = u64::from(token) + u64::from(rank);
        // Thousandths, so that their text is short.
        let thousandths = 1 + (bits >> 32) % 2000 + 250 * u64::from(rank);
        Token {
            literal: format!("{word}{number}"),
            id: (pick * 2281 + number) % VOCABULARY,
            logprob: -(thousandths as f64) / 1000.0,
        }
    }

    fn text(&self, choice: u32, step: u32) -> String {
        self.tokens(choice, step).map(|token| token.literal).collect()
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

/// The ids of a text's tokens: one to begin with, and one for each word.
pub(crate) fn text_ids(text: &str) -> impl Iterator<Item = u64> {
    std::iter::once(1).chain(text.split_whitespace().map(word_id))
}

/// The id of a word.
pub(crate) fn word_id(word: &str) -> u64 {
    word.bytes().fold(0, |key, byte| draw::mix(key ^ u64::from(byte))) % VOCABULARY
}

/// The word that stands for an id, as JSON has it inside a string.
pub(crate) fn word_of(id: u64) -> &'static str {
    WORDS.get((id / 2281) as usize % WORDS.len()).copied().unwrap_or_default()
}

/// A text as it stands inside a JSON string.
pub(crate) fn escape(text: &str) -> String {
    let quoted = quote(text);
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or_default().to_owned()
}

/// A text as a JSON string.
pub(crate) fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The text that stands inside a JSON string.
pub(crate) fn plain(literal: &str) -> String {
    serde_json::from_str(&format!("\"{literal}\"")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::engine::ask::{Terms, Wish};
    use crate::engine::config::{Behaviour, Length};

    fn generation(tokens: u32, tokens_per_chunk: u32, content: Content) -> Generation {
        let behaviour = Behaviour { length: Length::Own(tokens), tokens_per_chunk, ..Behaviour::default() };
        let terms = Terms { behaviour: &behaviour, model: "sim", id: "1" };
        let ask = Ask::settle(Wish { content, ..Wish::default() }, &terms).unwrap();
        Generation::new(ask, 42, Cached::default())
    }

    #[test]
    fn every_token_is_valid_json_and_differs_from_the_others() {
        let generation = generation(200, 1, Content::Text);
        let mut texts: Vec<String> = (0..200).map(|step| plain(&generation.text(0, step))).collect();
        assert!(texts.iter().all(|text| !text.is_empty()));
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
        let one_by_one: String = (0..10).map(|token| generation.token(0, token, 0).literal).collect();
        assert_eq!(all, one_by_one);
        assert_eq!(generation.said(0).text, one_by_one);
    }

    #[test]
    fn reasoning_comes_first_and_is_counted() {
        let generation = generation(9, 2, Content::Reasoning);
        let reasoning = |step| matches!(generation.fragment(0, step), Fragment::Reasoning(_));
        assert_eq!([0, 1, 2, 3, 4].map(reasoning), [true, true, false, false, false]);
        let usage = Usage { prompt: 0, completion: 18, reasoning: Some(8), cached: None };
        assert_eq!(generation.usage(2, 5), usage);
    }

    #[test]
    fn tool_arguments_are_json_when_put_together() {
        for tokens in [1, 2, 3, 40] {
            let generation = generation(tokens, 1, Content::ToolCall("gauge".into()));
            let call = generation.said(0).call.unwrap();
            assert_eq!(call.function, "gauge");
            let parsed: Value = serde_json::from_str(&plain(&call.arguments)).unwrap();
            assert!(parsed.is_object());
            assert_eq!(parsed.get("note").is_some(), tokens > 1);
        }
    }

    #[test]
    fn less_likely_tokens_are_other_tokens() {
        let generation = generation(1, 1, Content::Text);
        let ranked: Vec<Token> = (0..20).map(|rank| generation.token(0, 0, rank)).collect();
        assert!(ranked.windows(2).all(|pair| pair[1].logprob < pair[0].logprob));
        assert!(ranked.windows(2).all(|pair| pair[0].literal != pair[1].literal));
        assert!(ranked.iter().all(|token| token.logprob < 0.0 && token.id < VOCABULARY));
    }

    #[test]
    fn escaping_keeps_quotes_at_the_ends() {
        assert_eq!(escape("\"a\"\n"), "\\\"a\\\"\\n");
        assert_eq!(escape(""), "");
        assert_eq!(plain(r"caf\u00e9 \/"), "café /");
    }
}
