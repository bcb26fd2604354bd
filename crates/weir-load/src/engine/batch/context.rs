//! What a request must be so that it can be served: it fits into the model's context.

use super::config::Batching;
use super::seat::{Batch, tokens};
use super::speculation::Steps;
use crate::engine::ask::{Ask, Prompt};
use crate::engine::refusal::Refusal;

impl Batch {
    /// Makes a request fit: a length that the request did not ask for is cut to what the context has
    /// left, and its chunks are what the steps yield. A request that asks for more is refused.
    pub(crate) fn fit(&self, mut ask: Ask, wording: u64) -> Result<Ask, Refusal> {
        let context = self.config.config().max_model_len;
        let room = room(context, &ask)?;
        if ask.tokens > room {
            ask.tokens = room;
            ask.cut = true;
        }
        ask.chunks = self.steps(ask.tokens, wording).chunks(ask.tokens, ask.chunks.tokens_after(1));
        Ok(ask)
    }

    /// The steps that an answer of `tokens` tokens takes.
    pub(super) fn steps(&self, tokens: u32, wording: u64) -> Steps {
        let speculation = self.config.config().speculation.filter(|speculation| speculation.tokens > 0);
        speculation.map_or(Steps::Single, |speculation| speculation.steps(tokens, wording))
    }

    /// The token limit in effect: the request's, or what the context has left for it.
    pub(super) fn limit(&self, ask: &Ask, prompt: &Prompt) -> u32 {
        let context = self.config.config().max_model_len;
        ask.limit.unwrap_or(context.saturating_sub(tokens(prompt)))
    }
}

impl Batching {
    /// Tokens of a prompt and its answer together, at most.
    pub fn context(&self) -> u32 {
        self.config().max_model_len
    }
}

/// Tokens that the context has left for an answer, whichever of the prompts it is to.
fn room(context: u32, ask: &Ask) -> Result<u32, Refusal> {
    let prompt = ask.prompts.iter().map(tokens).max().unwrap_or(0);
    if prompt >= context {
        return Err(too_long(
            prompt,
            &format!(
                "This model's maximum context length is {context} tokens. However, your prompt contains \
                 {prompt} input tokens, which leaves no room for an answer. Please reduce the length of \
                 the input prompt."
            ),
        ));
    }
    let room = context - prompt;
    match ask.limit {
        Some(limit) if limit > room => Err(too_long(
            prompt,
            &format!(
                "This model's maximum context length is {context} tokens. However, you requested {limit} \
                 output tokens and your prompt contains {prompt} input tokens, for a total of {} tokens. \
                 Please reduce the length of the input prompt or the number of requested output tokens.",
                u64::from(limit) + u64::from(prompt)
            ),
        )),
        _ => Ok(room),
    }
}

fn too_long(prompt: u32, says: &str) -> Refusal {
    Refusal::of_value("input_tokens", &prompt.to_string(), says)
}
