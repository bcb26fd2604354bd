//! Log probabilities, in the two forms that OpenAI has for them.

use std::ops::Range;

use serde_json::Value;

use crate::engine::ask::Ask;
use crate::engine::generation::{Generation, Token, plain};
use crate::engine::refusal::Refusal;

/// The most log probabilities of an answer, alternatives and all choices together.
const MAX_LOGPROBS: u64 = 1 << 20;

/// Refuses more log probabilities than an answer may have.
pub(crate) fn check(top: Option<u32>, ask: &Ask) -> Result<(), Refusal> {
    let each = top.map_or(0, |top| 1 + u64::from(top));
    if each * u64::from(ask.tokens) * u64::from(ask.choices) > MAX_LOGPROBS {
        return Err(Refusal::invalid(format!("at most {MAX_LOGPROBS} log probabilities in an answer")));
    }
    Ok(())
}

/// The chat endpoint's form: the tokens of some steps, each with its `top` likeliest.
pub(crate) fn chat(generation: &Generation, choice: u32, steps: Range<u32>, top: u32) -> String {
    let range = generation.tokens_after(steps.start)..generation.tokens_after(steps.end);
    let tokens: Vec<String> = range
        .map(|token| {
            let ranked: Vec<String> = (0..top)
                .map(|rank| format!("{{{}}}", members(&generation.token(choice, token, rank))))
                .collect();
            let members = members(&generation.token(choice, token, 0));
            format!(r#"{{{members},"top_logprobs":[{}]}}"#, ranked.join(","))
        })
        .collect();
    format!(r#"{{"content":[{}]}}"#, tokens.join(","))
}

fn members(token: &Token) -> String {
    let bytes: Vec<String> = plain(&token.literal).bytes().map(|byte| byte.to_string()).collect();
    format!(r#""token":"{}","logprob":{},"bytes":[{}]"#, token.literal, token.logprob, bytes.join(","))
}

/// The completions endpoint's form. It counts where in the text each token begins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
    offsets: Vec<u64>,
    logprobs: Vec<Value>,
    tokens: Vec<String>,
    tops: Vec<String>,
    /// Where the next token begins, in characters.
    offset: u64,
}

impl Columns {
    /// Adds a prompt that is repeated: its words have been given, so they have no probability.
    pub(crate) fn echo(&mut self, prompt: &str) {
        self.offsets.push(self.offset);
        self.logprobs.push(Value::Null);
        self.tokens.push(Value::from(prompt).to_string());
        self.tops.push("null".to_owned());
        self.offset += prompt.chars().count() as u64;
    }

    /// Adds the tokens of a chunk, each with its `top` likeliest.
    pub(crate) fn chunk(&mut self, generation: &Generation, choice: u32, step: u32, top: u32) {
        for number in generation.tokens_after(step)..generation.tokens_after(step + 1) {
            let token = generation.token(choice, number, 0);
            let tops: Vec<String> = (0..top)
                .map(|rank| generation.token(choice, number, rank))
                .map(|token| format!(r#""{}":{}"#, token.literal, token.logprob))
                .collect();
            self.offsets.push(self.offset);
            self.offset += plain(&token.literal).chars().count() as u64;
            self.logprobs.push(Value::from(token.logprob));
            self.tokens.push(format!(r#""{}""#, token.literal));
            self.tops.push(format!("{{{}}}", tops.join(",")));
        }
    }

    /// What was added since it was last taken.
    pub(crate) fn take(&mut self) -> String {
        let offsets = super::openai::list(self.offsets.drain(..));
        let logprobs: Vec<String> = self.logprobs.drain(..).map(|value| value.to_string()).collect();
        let tokens: Vec<String> = self.tokens.drain(..).collect();
        let tops: Vec<String> = self.tops.drain(..).collect();
        format!(
            r#"{{"text_offset":{offsets},"token_logprobs":[{}],"tokens":[{}],"top_logprobs":[{}]}}"#,
            logprobs.join(","),
            tokens.join(","),
            tops.join(",")
        )
    }
}
