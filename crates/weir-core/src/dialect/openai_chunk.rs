//! One event of an OpenAI-compatible stream, chat or legacy completions: what it says, in one walk.
//!
//! Both dialects are read by the same eyes, since servers mix them up.

use std::ops::Range;

use crate::error_class::ErrorText;
use crate::json::walk::{Kind, Walker};
use crate::reader::Choices;
use crate::usage::Usage;

/// Keys whose strings mean nothing to us, and may differ from event to event: padding of random
/// length, stamps, and ids of their own.
pub(crate) const ASIDES: [&[u8]; 3] = [b"obfuscation", b"system_fingerprint", b"id"];

/// What one event says.
#[derive(Debug, Default)]
pub(crate) struct Chunk<'a> {
    /// The model's name, with its quotes; empty if there is none.
    pub(crate) model: &'a [u8],
    pub(crate) output: Output,
    pub(crate) choices: ChoiceCounts,
    pub(crate) tokens: TokenCounts,
    pub(crate) usage: Option<Usage>,
    pub(crate) timings: Option<Usage>,
    pub(crate) error: Option<ErrorText<'a>>,
    /// Where the strings of [`ASIDES`] stand.
    pub(crate) asides: [Option<Range<usize>>; ASIDES.len()],
}

/// The output in one event.
#[derive(Debug, Default)]
pub(crate) struct Output {
    pub(crate) answer: bool,
    pub(crate) reasoning: bool,
    /// Output in any form but a single string.
    pub(crate) compound: bool,
    /// Where the string stands that is the output.
    pub(crate) text: Option<Range<usize>>,
}

/// The choices in one event.
#[derive(Debug, Default)]
pub(crate) struct ChoiceCounts {
    pub(crate) all: u32,
    /// Those with a finish reason, new or not.
    pub(crate) ended: u32,
    /// Those that were not seen before.
    pub(crate) begun: u32,
    /// Those with a finish reason that had none before.
    pub(crate) newly_ended: u32,
    /// Those that ended in an error.
    pub(crate) failed: u32,
}

/// The tokens that an event lists one by one.
#[derive(Debug, Default)]
pub(crate) struct TokenCounts {
    pub(crate) ids: Option<u32>,
    pub(crate) logprobs: Option<u32>,
}

impl Output {
    pub(crate) fn any(&self) -> bool {
        self.answer || self.reasoning
    }

    fn mark(&mut self, answer: bool) {
        self.answer |= answer;
        self.reasoning |= !answer;
    }
}

impl<'a> Chunk<'a> {
    /// Reads an event's data, and enters its choices. `None` if it is not a JSON object.
    pub(crate) fn read(data: &'a [u8], choices: &mut Choices) -> Option<Self> {
        let mut walker = Walker::new(data);
        let mut chunk = Self::default();
        let mut flat = ErrorText::default();
        let mut is_error = false;
        let is_object = walker.object(|walker, key| match key {
            b"choices" => {
                walker.array(|walker| chunk.choice(walker, choices));
            }
            b"model" => {
                let raw = walker.raw();
                if raw.len() > 2 && raw.starts_with(b"\"") {
                    chunk.model = raw;
                }
            }
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
                Some(aside) => chunk.asides[aside] = walker.string().map(|text| behind(walker, text)),
                None => flat.field(walker, key),
            },
        });
        if is_error {
            chunk.error = Some(chunk.error.unwrap_or_default().or(flat));
        }
        (is_object && walker.finished()).then_some(chunk)
    }

    fn take_usage(&mut self, walker: &mut Walker<'a>) {
        if let Some(usage) = Usage::walk(walker) {
            Usage::replace_by(&mut self.usage, usage);
        }
    }

    fn take_error(&mut self, walker: &mut Walker<'a>) {
        // An empty one is none, so it is looked at first. Errors are rare.
        let raw = walker.raw();
        if Walker::new(raw).truthy() {
            self.error = Some(ErrorText::walk(&mut Walker::new(raw)));
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
                self.string_or_more(walker, true);
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
        let counts = &mut self.choices;
        counts.all += 1;
        counts.ended += u32::from(reason.is_some());
        counts.failed += u32::from(reason == Some(b"error"));
        let entered = choices.enter(u32::try_from(index).unwrap_or(u32::MAX), reason);
        counts.begun += u32::from(entered.begun);
        counts.newly_ended += u32::from(entered.ended);
    }

    fn delta(&mut self, walker: &mut Walker<'a>) {
        walker.object(|walker, key| match key {
            b"content" if walker.peek() == Kind::Array => {
                walker.array(|walker| self.part(walker));
            }
            b"content" | b"refusal" => self.string_or_more(walker, true),
            b"reasoning" | b"reasoning_content" => self.string_or_more(walker, false),
            b"reasoning_details" => self.compound(walker, false),
            b"tool_calls" | b"function_call" | b"audio" => self.compound(walker, true),
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

    fn string_or_more(&mut self, walker: &mut Walker<'a>, answer: bool) {
        if walker.peek() != Kind::String {
            return self.compound(walker, answer);
        }
        let Some(text) = walker.string().filter(|text| !text.is_empty()) else {
            return;
        };
        self.output.mark(answer);
        let before = self.output.text.replace(behind(walker, text));
        self.output.compound |= before.is_some();
    }

    fn compound(&mut self, walker: &mut Walker<'a>, answer: bool) {
        if walker.truthy() {
            self.output.mark(answer);
            self.output.compound = true;
        }
    }
}

/// Whether a finish reason is one. Some servers send an empty one, or the word null, until the end.
pub(crate) fn is_reason(text: &[u8]) -> bool {
    !text.is_empty() && text != b"null"
}

/// Where the string stands that the walker just left.
fn behind(walker: &Walker<'_>, text: &[u8]) -> Range<usize> {
    let end = walker.position().saturating_sub(1);
    end.saturating_sub(text.len())..end
}

/// How many elements an array has, if any.
fn count(walker: &mut Walker<'_>) -> Option<u32> {
    let count = walker.array(Walker::skip).filter(|count| *count > 0)?;
    u32::try_from(count).ok()
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
