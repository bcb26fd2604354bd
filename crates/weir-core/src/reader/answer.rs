//! Reads an answer that is one JSON document, as it passes.

use super::Seen;
use super::facts::Facts;
use super::stream::MODEL_LIMIT;
use crate::dialect::openai_chunk::is_reason;
use crate::error_class::ErrorText;
use crate::json::skim::Skim;
use crate::json::text;
use crate::json::walk::Walker;
use crate::outcome::ErrorType;
use crate::usage::Usage;

const KEYS: &[&str] = &["model", "usage", "timings", "error", "object", "code", "type"];

/// Reads one document.
#[derive(Debug)]
pub(super) struct Answer {
    skim: Skim,
}

impl Answer {
    pub(super) fn new() -> Self {
        Self { skim: Skim::new(KEYS, Some("finish_reason")) }
    }

    pub(super) fn feed(&mut self, chunk: &[u8]) {
        self.skim.feed(chunk);
    }

    /// Enters what was found, once the document is over or cut.
    pub(super) fn settle(&self, facts: &mut Facts, on: &mut impl FnMut(Seen)) {
        let value = |key| self.skim.value(key);
        facts.terminal = self.skim.is_complete();
        facts.model = value("model").and_then(|raw| text(raw, MODEL_LIMIT)).filter(|name| !name.is_empty());
        facts.tokens.reported = value("usage").and_then(Usage::read);
        facts.tokens.timings = value("timings").and_then(|raw| Usage::walk_timings(&mut Walker::new(raw)));
        // A choice is not told from the next but by its finish reason, which each has.
        for (index, raw) in (0..).zip(self.skim.found()) {
            let reason = Walker::new(raw).string().filter(|text| is_reason(text));
            facts.choices.enter(index, reason);
        }
        facts.all_finished = facts.choices.all_finished();
        let nested = value("error").filter(|raw| Walker::new(raw).truthy());
        if nested.is_some() || value("object") == Some(b"\"error\"") {
            let said = nested.map(|raw| ErrorText::walk(&mut Walker::new(raw))).unwrap_or_default();
            let flat = ErrorText { code: value("code"), kind: value("type"), ..ErrorText::default() };
            facts.fail(ErrorType::StreamError, said.or(flat));
            on(Seen::Error);
        }
    }
}
