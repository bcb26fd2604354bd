//! What one event of a stream says, in whatever dialect it says it.

use std::ops::Range;

use crate::error_class::ErrorText;
use crate::json::walk::{Kind, Walker};
use crate::reader::Choices;
use crate::usage::Usage;

/// As many values of one event may mean nothing to us and differ from event to event: padding of
/// random length, stamps, ids and ordinals of their own.
pub(crate) const ASIDES: usize = 3;

/// What one event says.
#[derive(Debug, Default)]
pub(crate) struct Chunk<'a> {
    /// The model's name, with its quotes; empty if there is none.
    pub(crate) model: &'a [u8],
    /// The id of the answer, without quotes; empty if there is none.
    pub(crate) id: &'a [u8],
    pub(crate) output: Output,
    pub(crate) choices: ChoiceCounts,
    pub(crate) tokens: TokenCounts,
    pub(crate) usage: Option<Usage>,
    /// The usage is all that is known by now, of all choices, and takes the place of the one before.
    pub(crate) cumulative: bool,
    pub(crate) timings: Option<Usage>,
    pub(crate) error: Option<ErrorText<'a>>,
    /// It is the terminal event.
    pub(crate) terminal: bool,
    /// Where the values stand that mean nothing: what is between the quotes, or digits.
    pub(crate) asides: [Option<Range<usize>>; ASIDES],
}

/// The output in one event.
#[derive(Debug, Default)]
pub(crate) struct Output {
    pub(crate) answer: bool,
    pub(crate) reasoning: bool,
    /// Output in any form but a single string, or one whose meaning stands outside the data.
    pub(crate) compound: bool,
    /// Where the string stands that is the output.
    pub(crate) text: Option<Range<usize>>,
}

/// The choices in one event.
#[derive(Debug, Default)]
pub(crate) struct ChoiceCounts {
    /// Those that the event lists, where its dialect lists them.
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

impl<'a> Chunk<'a> {
    /// Takes the model's name, if it is a string that is not empty.
    pub(crate) fn take_model(&mut self, walker: &mut Walker<'a>) {
        let raw = walker.raw();
        if raw.len() > 2 && raw.starts_with(b"\"") {
            self.model = raw;
        }
    }

    /// Takes the answer's id, if it is a string.
    pub(crate) fn take_id(&mut self, walker: &mut Walker<'a>) {
        self.id = walker.string().unwrap_or_default();
    }

    /// Takes an error, if it is none of the many ways to say that there is none.
    pub(crate) fn take_error(&mut self, walker: &mut Walker<'a>) {
        // It is looked at first. Errors are rare.
        let raw = walker.raw();
        if Walker::new(raw).truthy() {
            self.error = Some(ErrorText::walk(&mut Walker::new(raw)));
        }
    }

    /// Takes a string or a whole number that means nothing.
    pub(crate) fn take_aside(&mut self, slot: usize, walker: &mut Walker<'_>) {
        self.asides[slot] = match walker.peek() {
            Kind::String => walker.string().map(|text| behind_quote(walker, text)),
            Kind::Number => {
                let raw = walker.raw();
                let end = walker.position();
                raw.iter().all(u8::is_ascii_digit).then(|| end.saturating_sub(raw.len())..end)
            }
            _ => {
                walker.skip();
                None
            }
        };
    }

    /// Enters the only choice of a dialect that has one, where the event tells of it.
    pub(crate) fn enter_only(&mut self, choices: &mut Choices, reason: Option<&[u8]>) {
        if self.output.any() || reason.is_some() {
            self.choices.enter(choices, 0, reason);
        }
    }
}

impl Output {
    pub(crate) fn any(&self) -> bool {
        self.answer || self.reasoning
    }

    pub(crate) fn mark(&mut self, answer: bool) {
        self.answer |= answer;
        self.reasoning |= !answer;
    }

    /// Takes a string of output, or output in another form.
    pub(crate) fn take(&mut self, walker: &mut Walker<'_>, answer: bool) {
        if walker.peek() != Kind::String {
            return self.take_compound(walker, answer);
        }
        let Some(text) = walker.string().filter(|text| !text.is_empty()) else {
            return;
        };
        self.mark(answer);
        let before = self.text.replace(behind_quote(walker, text));
        self.compound |= before.is_some();
    }

    /// Takes output in another form than a string of text.
    pub(crate) fn take_compound(&mut self, walker: &mut Walker<'_>, answer: bool) {
        if walker.truthy() {
            self.mark(answer);
            self.compound = true;
        }
    }
}

impl ChoiceCounts {
    /// Enters a choice with the raw text of its finish reason.
    pub(crate) fn enter(&mut self, choices: &mut Choices, index: u64, reason: Option<&[u8]>) {
        self.ended += u32::from(reason.is_some());
        let entered = choices.enter(u32::try_from(index).unwrap_or(u32::MAX), reason);
        self.begun += u32::from(entered.begun);
        self.newly_ended += u32::from(entered.ended);
    }
}

/// Whether a finish reason is one. Some servers send an empty one, or the word null, until the end.
pub(crate) fn is_reason(text: &[u8]) -> bool {
    !text.is_empty() && text != b"null"
}

/// How many elements an array has, if any.
pub(crate) fn count(walker: &mut Walker<'_>) -> Option<u32> {
    let count = walker.array(Walker::skip).filter(|count| *count > 0)?;
    u32::try_from(count).ok()
}

/// Where the string stands whose closing quote the walker just passed.
fn behind_quote(walker: &Walker<'_>, text: &[u8]) -> Range<usize> {
    let end = walker.position().saturating_sub(1);
    end.saturating_sub(text.len())..end
}
