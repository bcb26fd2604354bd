//! Reads an event stream: what each event means, and what all of them come to.

use std::num::NonZeroU32;

use super::Seen;
use super::choices::label;
use super::facts::Facts;
use super::template::Template;
use super::token_rule::{TokenRule, as_vllm};
use crate::content::{Capture, CaptureLimit};
use crate::dialect::chunk::Chunk;
use crate::dialect::grammar::Grammar;
use crate::dialect::{Dialect, RequestPeek};
use crate::error_class::ErrorText;
use crate::json::text;
use crate::outcome::ErrorType;
use crate::sse::Event;
use crate::usage::{Provenance, Usage};

/// Model names longer than this are taken for absent.
pub(super) const MODEL_LIMIT: usize = 256;

/// Ids of answers are cut to this many bytes.
pub(super) const ID_LIMIT: usize = 128;

/// As many events may tell what a stream speaks. Behind them it is what the path lets expect.
const TELLING_EVENTS: u8 = 8;

/// Reads the events of one stream.
#[derive(Debug)]
pub(super) struct Stream {
    known: bool,
    grammar: Grammar,
    /// Events to come that may tell another grammar.
    telling: u8,
    /// The prompt comes back as the beginning of the output.
    echo: bool,
    /// A finish reason ends no more than a part of the audio: the terminal event ends the answer.
    in_parts: bool,
    rule: TokenRule,
    /// Keeps what is said, where that is asked for.
    capture: Option<Box<Capture>>,
    template: Template,
    /// The running total of output tokens at the last chunk, as long as each chunk gave one.
    running: Option<u64>,
    /// Tokens of events without output, which the next chunk will show.
    pending: u32,
}

impl Stream {
    pub(super) fn new(dialect: Dialect, request: &RequestPeek) -> Self {
        Self {
            known: dialect.is_generation(),
            grammar: Grammar::expected(dialect),
            telling: TELLING_EVENTS,
            echo: request.echo,
            in_parts: dialect == Dialect::Transcription,
            rule: TokenRule::default(),
            capture: None,
            template: Template::default(),
            running: Some(0),
            pending: 0,
        }
    }

    /// Output is told by this rule from here on. A transcription comes in the chunks of a chat, and is none.
    pub(super) fn count_by(&mut self, rule: TokenRule) {
        if !self.in_parts {
            self.rule = rule;
        }
    }

    /// What is said is kept from here on, within this limit.
    pub(super) fn capture(&mut self, limit: CaptureLimit) {
        self.capture = Some(Box::new(Capture::new(limit)));
    }

    pub(super) fn captured(&mut self) -> Option<Box<Capture>> {
        self.capture.take()
    }

    pub(super) fn is_known(&self) -> bool {
        self.known
    }

    /// Reads one event. Inlined wherever it is called: each event comes through here.
    #[inline(always)]
    pub(super) fn event(&mut self, event: Event<'_>, facts: &mut Facts, on: &mut impl FnMut(Seen)) {
        facts.counts.events += 1;
        facts.unterminated |= !event.terminated;
        if event.name != b"error"
            && let Some(has_output) = self.template.matches(event.data)
        {
            if has_output {
                self.running = None;
                let answer = self.template.answer();
                self.output(None, answer, facts, on);
            } else {
                on(Seen::Event);
            }
            return;
        }
        self.unlike_the_last(event, facts, on);
    }

    /// Reads an event that has to be looked into.
    fn unlike_the_last(&mut self, event: Event<'_>, facts: &mut Facts, on: &mut impl FnMut(Seen)) {
        if let Some(capture) = &mut self.capture {
            capture.event(event);
        }
        if is_done(event.data) {
            self.terminal(facts, on);
        } else if event.name == b"error" {
            let mut said = ErrorText::of_body(event.data);
            // Where the error stands in the event itself, its type is that of the event.
            said.kind = said.kind.filter(|kind| *kind != b"\"error\"");
            facts.fail(ErrorType::StreamError, said);
            on(Seen::Error);
            if self.grammar.ends_with_an_error() {
                self.terminal(facts, on);
            }
        } else {
            self.listen(event.data);
            if self.grammar.is_unknown() {
                on(Seen::Event);
            } else {
                self.chunk(event, facts, on);
            }
        }
    }

    /// Learns from the events what they speak, whatever the path lets expect.
    fn listen(&mut self, data: &[u8]) {
        if self.telling == 0 {
            return;
        }
        self.telling -= 1;
        if let Some(told) = Grammar::told_by(data) {
            // The one expected may know something already, such as the tokens of its first event.
            if std::mem::discriminant(&told) != std::mem::discriminant(&self.grammar) {
                self.grammar = told;
            }
            self.known = true;
            self.telling = 0;
        }
    }

    fn chunk(&mut self, event: Event<'_>, facts: &mut Facts, on: &mut impl FnMut(Seen)) {
        let mut chunk = self.grammar.read(event, &mut facts.choices);
        // What a broken event said before it broke was said, such as that a choice has ended.
        if chunk.as_ref().is_none_or(|chunk| chunk.choices.begun + chunk.choices.ended > 0) {
            facts.all_finished = !self.in_parts && facts.choices.all_finished();
        }
        match &mut chunk {
            Some(chunk) => {
                if self.rule == TokenRule::Vllm {
                    as_vllm(event, &self.grammar, chunk);
                }
                self.tell(chunk, facts, on);
                self.learn(event, chunk);
            }
            None if event.terminated => {
                facts.counts.parse_errors += 1;
                on(Seen::Broken);
            }
            // One that is cut off at the end of the stream is no mistake of its author: that the
            // stream ended so is all that can be said.
            None => {}
        }
    }

    /// Lets the next event of the same form take the short cut. That goes by Weir's own rule: an empty
    /// string, which it takes for no output, may be some by another. Nor does it look at what the output says.
    fn learn(&mut self, event: Event<'_>, chunk: &Chunk<'_>) {
        let looked_at = self.capture.as_ref().is_some_and(|capture| !capture.is_full());
        if self.rule == TokenRule::Weir && !looked_at {
            self.template.learn(event.data, chunk);
        }
    }

    fn terminal(&self, facts: &mut Facts, on: &mut impl FnMut(Seen)) {
        facts.terminal = true;
        if self.in_parts {
            facts.all_finished = facts.choices.all_finished();
        }
        facts.all_finished |= self.grammar.ends_without_a_reason();
        on(Seen::Terminal);
    }

    fn tell(&mut self, chunk: &Chunk<'_>, facts: &mut Facts, on: &mut impl FnMut(Seen)) {
        if facts.model.is_none() && !chunk.model.is_empty() {
            facts.model = text(chunk.model, MODEL_LIMIT);
        }
        if facts.id.is_none() && !chunk.id.is_empty() {
            facts.id = Some(label(chunk.id, ID_LIMIT));
        }
        take_usage(chunk, facts);
        let tokens = self.tokens(chunk, facts);
        if chunk.output.any() {
            self.output(tokens, chunk.output.answer, facts, on);
        } else {
            self.pending = self.pending.saturating_add(tokens.unwrap_or(0));
        }
        let failed = chunk.choices.failed > 0;
        if let Some(said) = chunk.error.or(failed.then(ErrorText::default)) {
            facts.fail(ErrorType::StreamError, said);
            on(Seen::Error);
        } else if !chunk.output.any() {
            on(Seen::Event);
        }
        if chunk.terminal {
            self.terminal(facts, on);
        }
    }

    #[inline]
    fn output(&mut self, tokens: Option<u32>, answer: bool, facts: &mut Facts, on: &mut impl FnMut(Seen)) {
        facts.counts.chunks += 1;
        facts.tokens.uncounted_chunks += u64::from(tokens.is_none());
        let tokens = tokens.and_then(|n| NonZeroU32::new(n.saturating_add(self.pending)));
        self.pending = 0;
        on(Seen::Output { tokens, answer });
    }

    /// How many tokens came with this event, if it can be known.
    fn tokens(&mut self, chunk: &Chunk<'_>, facts: &mut Facts) -> Option<u32> {
        let grown = self.grown(chunk, facts.choices.seen().len());
        let (listed, source) = match (chunk.tokens.ids, chunk.tokens.logprobs) {
            (Some(ids), _) => (ids, Provenance::TokenIds),
            (None, Some(logprobs)) => (logprobs, Provenance::Logprobs),
            (None, None) => return grown,
        };
        // With its first chunk an echoed prompt comes too, and nothing tells the two apart.
        if self.echo && chunk.choices.begun > 0 {
            return grown;
        }
        facts.tokens.listed += u64::from(listed);
        facts.tokens.listed_as = facts.tokens.listed_as.max(Some(source));
        Some(listed)
    }

    /// By how much the running total has grown, where each chunk gives one.
    fn grown(&mut self, chunk: &Chunk<'_>, choices: usize) -> Option<u32> {
        let total = chunk.usage.or(chunk.timings).and_then(|usage| usage.output);
        let Some(total) = total else {
            if chunk.output.any() {
                self.running = None;
            }
            return None;
        };
        let before = self.running.replace(total)?;
        // Of several choices, each may have a total of its own.
        if choices > 1 && !chunk.cumulative {
            return None;
        }
        u32::try_from(total.checked_sub(before)?).ok()
    }
}

fn take_usage(chunk: &Chunk<'_>, facts: &mut Facts) {
    let Some(counts) = chunk.usage.or(chunk.timings) else {
        return;
    };
    let tokens = &mut facts.tokens;
    if chunk.cumulative {
        tokens.reported = chunk.usage.or(tokens.reported);
    } else if let Some(usage) = chunk.usage {
        Usage::replace_by(&mut tokens.reported, usage);
    }
    if let Some(timings) = chunk.timings {
        Usage::replace_by(&mut tokens.timings, timings);
    }
    // Timings are those of one choice, and a usage object beside them is too. Without them, one
    // that comes when a choice ends may speak for it or for all of them: for it, if more choices
    // come than were asked for, as with several prompts.
    let ends_one = chunk.choices.all == 1 && chunk.choices.newly_ended == 1;
    let own = match chunk.timings {
        Some(_) => ends_one || chunk.choices.all == 0,
        None => ends_one && facts.choices.asked() <= 1,
    };
    if own {
        tokens.parts.add(counts, chunk.usage.is_some());
    } else if chunk.choices.all == 0 {
        tokens.parts.overruled = true;
    }
}

/// Clients stop at data that begins with this, whatever follows.
fn is_done(data: &[u8]) -> bool {
    data.trim_ascii_start().starts_with(b"[DONE]")
}
