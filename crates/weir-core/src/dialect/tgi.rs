//! One event of the stream that TGI's own API gives: each brings one token.

use super::chunk::{Chunk, is_reason};
use crate::error_class::ErrorText;
use crate::json::walk::{Kind, Walker};
use crate::reader::Choices;
use crate::usage::{Usage, take};

/// Reads an event's data, and enters its only choice. `None` if it is not a JSON object.
pub(super) fn read<'a>(data: &'a [u8], choices: &mut Choices) -> Option<Chunk<'a>> {
    let mut walker = Walker::new(data);
    let mut chunk = Chunk::default();
    let mut flat = ErrorText::default();
    let mut reason = None;
    let is_object = walker.object(|walker, key| match key {
        b"token" => chunk.token(walker),
        // The whole text again, with the last token.
        b"generated_text" => {
            chunk.terminal = walker.peek() == Kind::String;
            walker.skip();
        }
        b"details" => {
            let mut usage = Usage::default();
            walker.object(|walker, key| match key {
                b"finish_reason" => reason = walker.string().filter(|text| is_reason(text)),
                b"generated_tokens" => take(walker, &mut usage.output),
                b"input_length" => take(walker, &mut usage.input),
                _ => walker.skip(),
            });
            chunk.usage = (usage != Usage::default()).then_some(usage);
        }
        b"error" => chunk.take_error(walker),
        _ => flat.field(walker, key),
    });
    chunk.error = chunk.error.map(|said| said.or(flat));
    chunk.enter_only(choices, reason);
    (is_object && walker.finished()).then_some(chunk)
}

impl Chunk<'_> {
    /// A special one, such as the end of the sequence, is counted and not shown; any other is output
    /// even if it has no text of its own yet, such as half a character.
    fn token(&mut self, walker: &mut Walker<'_>) {
        let (mut has_id, mut special) = (false, false);
        walker.object(|walker, key| match key {
            b"id" => has_id = walker.unsigned().is_some(),
            b"special" => special = walker.boolean() == Some(true),
            _ => walker.skip(),
        });
        if has_id {
            self.tokens.ids = Some(1);
            if !special {
                self.output.mark(true);
                self.output.compound = true;
            }
        }
    }
}
