//! Which events of a stream carry output: by Weir's own rule, which each grammar holds, or by that of
//! `vllm bench serve`.

use crate::dialect::chunk::{Chunk, Output};
use crate::dialect::grammar::Grammar;
use crate::json::walk::{Kind, Walker};
use crate::sse::Event;

/// Which events of a stream carry output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokenRule {
    /// Those with anything that is not empty.
    #[default]
    Weir,
    /// Those that `vllm bench serve` takes for a token, in the dialects that it knows.
    Vllm,
}

/// The events of a Responses stream that vLLM's bench takes for a token, whatever they hold.
const RESPONSES: [&[u8]; 2] = [b"response.output_text.delta", b"response.reasoning_text.delta"];

/// Says anew what of an event is output, as vLLM's bench does. Events of grammars that it does not know are
/// left alone.
pub(super) fn as_vllm(event: Event<'_>, grammar: &Grammar, chunk: &mut Chunk<'_>) {
    let (answer, reasoning) = match grammar {
        Grammar::Chunks => of_first_choice(event.data),
        Grammar::Responses => of_type(event),
        _ => return,
    };
    chunk.output = Output { answer, reasoning, ..Output::default() };
}

/// The first choice that an event lists, and no other: of a chat by its delta, of a completion whatever it
/// holds.
fn of_first_choice(data: &[u8]) -> (bool, bool) {
    let mut found = (false, false);
    Walker::new(data).object(|walker, key| match key {
        b"choices" => {
            let mut first = true;
            walker.array(|walker| {
                if !std::mem::take(&mut first) {
                    return walker.skip();
                }
                found = (true, false);
                walker.object(|walker, key| match key {
                    b"delta" => found = of_delta(walker),
                    _ => walker.skip(),
                });
            });
        }
        _ => walker.skip(),
    });
    found
}

/// A delta without a role whose content is the empty string stands for a token without text.
fn of_delta(walker: &mut Walker<'_>) -> (bool, bool) {
    let (mut role, mut empty, mut answer, mut reasoning) = (false, false, false, false);
    walker.object(|walker, key| match key {
        b"role" => {
            role = true;
            walker.skip();
        }
        b"content" => {
            empty = walker.peek() == Kind::String;
            let filled = walker.truthy();
            empty &= !filled;
            answer |= filled;
        }
        b"tool_calls" | b"function_call" => answer |= walker.truthy(),
        b"reasoning" => reasoning |= walker.truthy(),
        _ => walker.skip(),
    });
    (answer || (empty && !role), reasoning)
}

fn of_type(event: Event<'_>) -> (bool, bool) {
    let mut kind: Option<&[u8]> = None;
    Walker::new(event.data).object(|walker, key| match key {
        b"type" => kind = walker.string(),
        _ => walker.skip(),
    });
    let kind = kind.unwrap_or(event.name);
    (kind == RESPONSES[0], kind == RESPONSES[1])
}
