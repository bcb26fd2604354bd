//! One event of an OpenAI-compatible stream, chat or legacy completions: what it says, in one walk.
//!
//! Both dialects are read by the same eyes, since servers mix them up; vLLM's transcriptions too.

use super::chunk::{Chunk, TokenCounts, count, is_reason};
use crate::error_class::ErrorText;
use crate::json::walk::{Kind, Walker};
use crate::reader::Choices;
use crate::usage::Usage;

/// Keys whose strings mean nothing to us, and may differ from event to event.
const ASIDES: [&[u8]; 3] = [b"obfuscation", b"system_fingerprint", b"id"];

/// The place of the id among these.
const ID: usize = 2;

/// Reads an event's data, and enters its choices. `None` if it is not a JSON object, or an error in an array.
pub(super) fn read<'a>(data: &'a [u8], choices: &mut Choices) -> Option<Chunk<'a>> {
    let mut walker = Walker::new(data);
    let mut chunk = Chunk::default();
    if walker.peek() == Kind::Array {
        return read_array(data);
    }
    let mut flat = ErrorText::default();
    let mut is_error = false;
    let is_object = walker.object(|walker, key| match key {
        b"choices" => {
            walker.array(|walker| chunk.choice(walker, choices));
        }
        b"model" => chunk.take_model(walker),
        b"usage" => chunk.take_usage(walker),
        b"x_groq" => {
            walker.object(|walker, key| match key {
                b"usage" => chunk.take_usage(walker),
                b"error" => chunk.take_error(walker),
                _ => walker.skip(),
            });
        }
        b"timings" => chunk.timings = Usage::walk_timings(walker),
        b"error" => chunk.take_error(walker),
        b"object" => is_error |= walker.string() == Some(b"error"),
        b"statusCodeValue" => is_error |= walker.unsigned().is_some_and(|code| code >= 400),
        _ => match ASIDES.iter().position(|aside| *aside == key) {
            Some(aside) => chunk.take_aside(aside, walker),
            None => flat.field(walker, key),
        },
    });
    if is_error || chunk.error.is_some() {
        chunk.error = Some(chunk.error.unwrap_or_default().or(flat));
    }
    if let Some(range) = &chunk.asides[ID] {
        chunk.id = &data[range.clone()];
    }
    (is_object && walker.finished()).then_some(chunk)
}

/// Gemini puts an error into an array, as its whole answers are. `None` for an array of anything else.
fn read_array(data: &[u8]) -> Option<Chunk<'_>> {
    let said = ErrorText::of_body(data);
    said.is_something().then(|| Chunk { error: Some(said), ..Chunk::default() })
}

impl<'a> Chunk<'a> {
    fn take_usage(&mut self, walker: &mut Walker<'a>) {
        if let Some(usage) = Usage::walk(walker) {
            Usage::replace_by(&mut self.usage, usage);
        }
    }

    fn choice(&mut self, walker: &mut Walker<'a>, choices: &mut Choices) {
        let mut index = 0;
        let mut reason = None;
        let mut has_text = false;
        let mut listed = TokenCounts::default();
        let is_object = walker.object(|walker, key| match key {
            b"index" => index = walker.unsigned().unwrap_or(0),
            b"delta" => self.delta(walker),
            b"text" => {
                has_text = true;
                self.output.take(walker, true);
            }
            b"finish_reason" => reason = walker.string().filter(|text| is_reason(text)),
            b"logprobs" => listed.logprobs = logprobs(walker),
            b"token_ids" => listed.ids = count(walker),
            b"usage" => self.take_usage(walker),
            _ => walker.skip(),
        });
        if !is_object {
            return;
        }
        // A completion's token may have no text of its own yet, such as half a character.
        if has_text && (listed.ids.is_some() || listed.logprobs.is_some()) {
            self.output.mark(true);
            self.output.compound = true;
        }
        add(&mut self.tokens.ids, listed.ids);
        add(&mut self.tokens.logprobs, listed.logprobs);
        self.choices.all += 1;
        self.choices.failed += u32::from(reason == Some(b"error"));
        self.choices.enter(choices, index, reason);
    }

    fn delta(&mut self, walker: &mut Walker<'a>) {
        walker.object(|walker, key| match key {
            b"content" if walker.peek() == Kind::Array => {
                walker.array(|walker| self.part(walker));
            }
            b"content" | b"refusal" => self.output.take(walker, true),
            b"reasoning" | b"reasoning_content" => self.output.take(walker, false),
            b"reasoning_details" => self.output.take_compound(walker, false),
            b"tool_calls" | b"function_call" | b"audio" => self.output.take_compound(walker, true),
            _ => walker.skip(),
        });
    }

    /// One part of a content that is an array.
    fn part(&mut self, walker: &mut Walker<'a>) {
        let mut answer = true;
        walker.object(|walker, key| match key {
            b"type" => answer = !matches!(walker.string(), Some(b"thinking" | b"reasoning")),
            _ => walker.skip(),
        });
        self.output.mark(answer);
        self.output.compound = true;
    }
}

/// How many tokens have log probabilities: one list for content and refusal each in a chat, one
/// list of tokens in a completion.
fn logprobs(walker: &mut Walker<'_>) -> Option<u32> {
    let mut sum = None;
    walker.object(|walker, key| match key {
        b"content" | b"refusal" | b"tokens" => add(&mut sum, count(walker)),
        _ => walker.skip(),
    });
    sum
}

fn add(sum: &mut Option<u32>, more: Option<u32>) {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or(0).saturating_add(more));
    }
}
