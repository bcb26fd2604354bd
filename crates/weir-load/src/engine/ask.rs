//! What a request asks for, once its API's own members have been read: how much is to be generated,
//! of what kind, and for which prompt.

use serde_json::Value;

use super::chunks::Chunks;
use super::config::{Behaviour, Length};
use super::refusal::Refusal;
use crate::draw;

/// The most choices of each prompt, as OpenAI has it.
pub(crate) const MAX_CHOICES: u32 = 128;

/// The most choices of all prompts together.
const MAX_ALL_CHOICES: u32 = 4096;

/// The most tokens of one answer, all choices together.
pub(crate) const MAX_TOKENS: u64 = 1 << 20;

/// What is to be generated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) model: String,
    pub(crate) stream: bool,
    /// The choices of all prompts together.
    pub(crate) choices: u32,
    /// Tokens of each choice.
    pub(crate) tokens: u32,
    /// How they are parted into events.
    pub(crate) chunks: Chunks,
    /// The token limit that the request gave.
    pub(crate) limit: Option<u32>,
    /// Whether the token limit cut the answer.
    pub(crate) cut: bool,
    pub(crate) content: Content,
    /// The function that the model may call if it likes.
    pub(crate) callable: Option<String>,
    /// The prompts, one at least, each with as many choices as the others.
    pub(crate) prompts: Vec<Prompt>,
    /// Decides the words in place of the request's draw.
    pub(crate) seed: Option<i64>,
}

/// What the tokens of an answer are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Text,
    /// Reasoning for the first half, then text.
    Reasoning,
    /// A call of that function.
    ToolCall(String),
}

/// A prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub(crate) text: String,
    pub(crate) tokens: u64,
}

/// What a request says, whichever API it came by, before the engine has its say.
#[derive(Debug)]
pub(crate) struct Wish {
    pub(crate) model: Option<String>,
    pub(crate) stream: bool,
    pub(crate) prompts: Vec<Prompt>,
    /// Choices of each prompt.
    pub(crate) choices: u32,
    /// The most tokens of a choice.
    pub(crate) limit: Option<u32>,
    /// The least tokens of a choice.
    pub(crate) least: u32,
    /// Whether a choice goes on to its limit, whatever the model's own length is.
    pub(crate) past_end: bool,
    pub(crate) content: Content,
    pub(crate) callable: Option<String>,
    pub(crate) seed: Option<i64>,
}

/// What the engine has to say to every request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms<'a> {
    pub(crate) behaviour: &'a Behaviour,
    /// The model of a request that names none.
    pub(crate) model: &'a str,
    /// What makes the response's id differ from every other one.
    pub(crate) id: &'a str,
}

impl Default for Wish {
    fn default() -> Self {
        Wish {
            model: None,
            stream: false,
            prompts: Vec::new(),
            choices: 1,
            limit: None,
            least: 0,
            past_end: false,
            content: Content::Text,
            callable: None,
            seed: None,
        }
    }
}

impl Ask {
    /// Settles what is generated; what cannot be is refused.
    pub(crate) fn settle(mut wish: Wish, terms: &Terms<'_>) -> Result<Self, Refusal> {
        if wish.prompts.is_empty() {
            wish.prompts.push(Prompt::default());
        }
        let prompts = u32::try_from(wish.prompts.len()).unwrap_or(u32::MAX).max(1);
        let choices = prompts.saturating_mul(wish.choices);
        if choices > MAX_ALL_CHOICES {
            return Err(Refusal::invalid(format!("at most {MAX_ALL_CHOICES} choices in all")));
        }
        let length = Extent::new(terms.behaviour.length, &wish);
        let tokens = length.tokens;
        if u64::from(tokens) * u64::from(choices) > MAX_TOKENS {
            return Err(Refusal::invalid(format!("at most {MAX_TOKENS} tokens in all choices together")));
        }
        Ok(Ask {
            model: wish.model.unwrap_or_else(|| terms.model.to_owned()),
            stream: wish.stream,
            choices,
            tokens,
            chunks: Chunks::even(tokens, terms.behaviour.tokens_per_chunk),
            limit: wish.limit,
            cut: length.cut,
            content: wish.content,
            callable: wish.callable,
            prompts: wish.prompts,
            seed: wish.seed,
        })
    }

    /// The prompt of a request that has one.
    pub(crate) fn prompt(&self) -> &str {
        self.prompts.first().map_or("", |prompt| &prompt.text)
    }

    /// Tokens of all prompts together.
    pub(crate) fn prompt_tokens(&self) -> u64 {
        self.prompts.iter().map(|prompt| prompt.tokens).sum()
    }

    /// Choices of each prompt.
    pub(crate) fn choices_each(&self) -> u32 {
        let prompts = u32::try_from(self.prompts.len()).unwrap_or(u32::MAX).max(1);
        (self.choices / prompts).max(1)
    }

    /// What chooses the words: the request's seed, or what was drawn for it.
    pub(crate) fn wording(&self, drawn: u64) -> u64 {
        self.seed.map_or(drawn, |seed| draw::mix(seed.cast_unsigned()))
    }

    /// Lets the model choose whether it calls the function that it may call: the draw of its words
    /// decides.
    pub(crate) fn decide(&mut self, wording: u64) {
        if let Some(function) = self.callable.take()
            && self.content == Content::Text
            && wording.is_multiple_of(2)
        {
            self.content = Content::ToolCall(function);
        }
    }
}

/// How long a choice is, and whether the request's limit cut it.
#[derive(Debug, PartialEq, Eq)]
struct Extent {
    tokens: u32,
    cut: bool,
}

impl Extent {
    fn new(length: Length, wish: &Wish) -> Self {
        if let Some(limit) = wish.limit.filter(|_| wish.past_end) {
            return Extent { tokens: limit.max(1), cut: true };
        }
        match length {
            Length::AsAsked { otherwise } => {
                let tokens = wish.limit.unwrap_or_else(|| otherwise.max(wish.least));
                Extent { tokens: tokens.max(1), cut: false }
            }
            Length::Own(own) => {
                let own = own.max(wish.least).max(1);
                let tokens = wish.limit.map_or(own, |limit| limit.min(own));
                Extent { tokens, cut: tokens < own }
            }
        }
    }
}

impl Prompt {
    /// A prompt in whichever form its API has it.
    pub(crate) fn of(value: &Value) -> Self {
        let text = text_of(value);
        let tokens = match value {
            // Given in tokens.
            Value::Array(tokens) if tokens.iter().all(Value::is_number) => tokens.len() as u64,
            _ => count_tokens(&text),
        };
        Prompt { text, tokens }
    }

    /// The prompts of a member that holds one text, one text in tokens, or a list of either.
    pub(crate) fn each_of(value: &Value) -> Vec<Self> {
        match value {
            Value::Array(items) if !items.is_empty() && !items.iter().all(Value::is_number) => {
                items.iter().map(Prompt::of).collect()
            }
            one => vec![Prompt::of(one)],
        }
    }
}

/// The text in a prompt, whichever of the API's forms it has.
pub(crate) fn text_of(prompt: &Value) -> String {
    match prompt {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of).collect::<Vec<_>>().join(" "),
        Value::Object(part) => {
            let text = part.get("content").or_else(|| part.get("text"));
            text.map_or_else(String::new, text_of)
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

    fn settle(wish: Wish, behaviour: &Behaviour) -> Result<Ask, Refusal> {
        Ask::settle(wish, &Terms { behaviour, model: "sim", id: "1" })
    }

    fn extent(length: Length, limit: Option<u32>, least: u32, past_end: bool) -> (u32, bool) {
        let extent = Extent::new(length, &Wish { limit, least, past_end, ..Wish::default() });
        (extent.tokens, extent.cut)
    }

    #[test]
    fn an_empty_wish_gets_the_defaults() {
        let ask = settle(Wish::default(), &Behaviour::default()).unwrap();
        let expected = Ask {
            model: "sim".into(),
            stream: false,
            choices: 1,
            tokens: 64,
            chunks: Chunks::even(64, 1),
            limit: None,
            cut: false,
            content: Content::Text,
            callable: None,
            prompts: vec![Prompt::default()],
            seed: None,
        };
        assert_eq!(ask, expected);
    }

    #[test]
    fn a_limit_sets_the_length_or_cuts_it() {
        let asked = Length::AsAsked { otherwise: 64 };
        assert_eq!(extent(asked, Some(5), 0, false), (5, false));
        assert_eq!(extent(asked, None, 70, false), (70, false));
        assert_eq!(extent(asked, Some(5), 0, true), (5, true));
        assert_eq!(extent(Length::Own(10), Some(5), 0, false), (5, true));
        assert_eq!(extent(Length::Own(10), Some(10), 0, false), (10, false));
        assert_eq!(extent(Length::Own(10), None, 0, false), (10, false));
        assert_eq!(extent(Length::Own(10), Some(20), 15, false), (15, false));
        assert_eq!(extent(Length::Own(10), Some(20), 0, true), (20, true));
        assert_eq!(extent(Length::Own(0), None, 0, false), (1, false));
    }

    #[test]
    fn a_prompt_has_as_many_tokens_as_words_and_one() {
        let parts = json!([{"type": "text", "text": "three more words"}]);
        let messages = json!([{"role": "system", "content": "be brief"}, {"role": "user", "content": parts}]);
        let prompt = Prompt::of(&messages);
        assert_eq!((prompt.text.as_str(), prompt.tokens), ("be brief three more words", 6));
    }

    #[test]
    fn prompts_come_alone_in_lists_and_in_tokens() {
        let tokens = |value: Value| Prompt::each_of(&value).iter().map(|one| one.tokens).collect::<Vec<_>>();
        assert_eq!(tokens(json!("once upon")), [3]);
        assert_eq!(tokens(json!(["once upon", "the"])), [3, 2]);
        assert_eq!(tokens(json!([5, 6, 7, 8])), [4]);
        assert_eq!(tokens(json!([[5, 6], [7]])), [2, 1]);
        assert_eq!(tokens(json!([])), [0]);
    }

    #[test]
    fn every_prompt_has_its_choices() {
        let prompts = Prompt::each_of(&json!(["once upon", "the cat"]));
        let ask = settle(Wish { prompts, choices: 2, ..Wish::default() }, &Behaviour::default()).unwrap();
        assert_eq!(
            (ask.choices, ask.choices_each(), ask.prompt_tokens(), ask.prompt()),
            (4, 2, 6, "once upon")
        );
    }

    #[test]
    fn what_cannot_be_generated_is_refused() {
        let many = Wish { limit: Some(20_000), choices: 100, ..Wish::default() };
        assert!(settle(many, &Behaviour::default()).is_err());
        let prompts = vec![Prompt::default(); 4097];
        assert!(settle(Wish { prompts, limit: Some(1), ..Wish::default() }, &Behaviour::default()).is_err());
    }

    #[test]
    fn a_seed_takes_the_place_of_the_draw() {
        let wording = |seed, drawn| {
            let ask = settle(Wish { seed, ..Wish::default() }, &Behaviour::default()).unwrap();
            ask.wording(drawn)
        };
        assert_eq!(wording(None, 7), 7);
        assert_eq!(wording(Some(3), 1), wording(Some(3), 2));
        assert_ne!(wording(Some(3), 1), wording(Some(4), 1));
    }

    #[test]
    fn a_free_choice_of_tools_falls_to_the_draw() {
        let wish = Wish { callable: Some("gauge".into()), ..Wish::default() };
        let mut ask = settle(wish, &Behaviour::default()).unwrap();
        let mut other = ask.clone();
        ask.decide(2);
        assert_eq!(ask.content, Content::ToolCall("gauge".into()));
        other.decide(3);
        assert_eq!(other.content, Content::Text);
    }
}
