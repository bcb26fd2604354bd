//! The choices of an answer, and how each ended.

use super::facts::LABEL_LIMIT;
use crate::json::text_cut;

/// As many choices are told apart. Those beyond are neither followed nor waited for.
pub(crate) const MAX_CHOICES: usize = 128;

/// The choices of an answer.
#[derive(Debug, Default)]
pub struct Choices {
    seen: Vec<Choice>,
    /// For each prompt.
    asked: u32,
    /// For all prompts; absent where it is not known how many there are.
    expected: Option<u32>,
}

/// One choice of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Its index.
    pub index: u32,
    /// Its last real finish reason, cut to a bounded length.
    pub finish_reason: Option<Box<str>>,
}

/// What was new about a choice when it was entered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entered {
    pub(crate) begun: bool,
    pub(crate) ended: bool,
}

impl Choices {
    /// The choices seen, in the order in which they began.
    pub fn seen(&self) -> &[Choice] {
        &self.seen
    }

    /// The finish reasons, in the same order.
    pub fn finish_reasons(&self) -> impl Iterator<Item = &str> {
        self.seen.iter().filter_map(|choice| choice.finish_reason.as_deref())
    }

    /// Whether each choice that was seen has a finish reason, be they fewer than were asked for:
    /// some servers give one whatever was asked.
    pub fn seen_are_finished(&self) -> bool {
        !self.seen.is_empty() && self.seen.iter().all(|choice| choice.finish_reason.is_some())
    }

    /// Whether there are as many choices as were asked for, and each has a finish reason. Never where
    /// it is not known how many were.
    pub(super) fn all_finished(&self) -> bool {
        self.expected.is_some_and(|expected| {
            let expected = usize::try_from(expected.max(1)).unwrap_or(MAX_CHOICES).min(MAX_CHOICES);
            self.seen.len() >= expected && self.seen_are_finished()
        })
    }

    /// Waits for so many choices, of which `asked` are answers to one prompt.
    pub(super) fn expecting(asked: u32, expected: Option<u32>) -> Self {
        Self { seen: Vec::new(), asked, expected }
    }

    /// As many were asked for, for each prompt.
    pub(super) fn asked(&self) -> u32 {
        self.asked
    }

    /// Enters a choice as it stands in an event, with the raw text of its finish reason.
    pub(crate) fn enter(&mut self, index: u32, reason: Option<&[u8]>) -> Entered {
        let at = self.seen.iter().position(|choice| choice.index == index);
        let begun = at.is_none();
        if begun {
            if self.seen.len() == MAX_CHOICES {
                return Entered::default();
            }
            self.seen.push(Choice { index, finish_reason: None });
        }
        let at = at.unwrap_or(self.seen.len() - 1);
        let Some(reason) = reason else {
            return Entered { begun, ended: false };
        };
        let slot = &mut self.seen[at].finish_reason;
        let ended = slot.is_none();
        if slot.as_deref().map(str::as_bytes) != Some(reason) {
            *slot = Some(label(reason, LABEL_LIMIT));
        }
        Entered { begun, ended }
    }
}

/// The text of a string's inside, bounded.
pub(super) fn label(inside: &[u8], limit: usize) -> Box<str> {
    let mut raw = Vec::with_capacity(inside.len() + 2);
    raw.push(b'"');
    raw.extend_from_slice(inside);
    raw.push(b'"');
    text_cut(&raw, limit)
}
