//! Reads an answer that is one JSON document, as it passes.

use super::Seen;
use super::facts::Facts;
use super::stream::{ID_LIMIT, MODEL_LIMIT};
use crate::content::{Capture, CaptureLimit};
use crate::dialect::chunk::is_reason;
use crate::dialect::messages::Counts;
use crate::dialect::responses::Response;
use crate::dialect::sglang::finish_reason;
use crate::dialect::{Dialect, ollama};
use crate::error_class::ErrorText;
use crate::json::skim::Skim;
use crate::json::walk::Walker;
use crate::json::{text, text_cut};
use crate::outcome::ErrorType;
use crate::usage::{Usage, take};

/// What every dialect's answers may say of themselves.
const KEYS: &[&str] = &[
    "model",
    "id",
    "usage",
    "timings",
    "error",
    "object",
    "code",
    "type",
    "error_type",
    "status",
    "incomplete_details",
    "stop_reason",
    "done_reason",
    "prompt_eval_count",
    "eval_count",
    "meta",
];

/// What the answers of TGI's and SGLang's own APIs say deeper down, among tokens that may be many.
const NESTED: [&str; 4] = ["generated_tokens", "prompt_tokens", "completion_tokens", "cached_tokens"];

/// Reads one document.
#[derive(Debug)]
pub(super) struct Answer {
    dialect: Dialect,
    skim: Skim,
    /// Looks for each of [`NESTED`], where there may be any.
    nested: Vec<Skim>,
    /// Keeps what is said, where that is asked for.
    capture: Option<Box<Capture>>,
}

/// Whose document it is: what it says itself goes before what the path lets expect.
enum Shape {
    OpenAi,
    Response,
    Message,
    Ollama,
    Native,
    Rerank,
}

impl Answer {
    pub(super) fn new(dialect: Dialect) -> Self {
        let nested = if dialect == Dialect::TgiGenerate { &NESTED[..] } else { &[] };
        Self {
            dialect,
            skim: Skim::new(KEYS, Some("finish_reason")),
            nested: nested.iter().map(|key| Skim::new(&[], Some(key))).collect(),
            capture: None,
        }
    }

    /// What is said is kept from here on, within this limit.
    pub(super) fn capture(&mut self, limit: CaptureLimit) {
        self.capture = Some(Box::new(Capture::new(limit)));
    }

    pub(super) fn captured(&mut self) -> Option<Box<Capture>> {
        self.capture.take()
    }

    pub(super) fn feed(&mut self, chunk: &[u8]) {
        if let Some(capture) = &mut self.capture {
            capture.bytes(chunk);
        }
        self.skim.feed(chunk);
        self.nested.iter_mut().for_each(|skim| skim.feed(chunk));
    }

    /// Enters what was found, once the document is over or cut.
    pub(super) fn settle(&self, facts: &mut Facts, on: &mut impl FnMut(Seen)) {
        facts.terminal = self.skim.is_complete();
        facts.model =
            self.value("model").and_then(|raw| text(raw, MODEL_LIMIT)).filter(|name| !name.is_empty());
        facts.id = self.value("id").map(|raw| text_cut(raw, ID_LIMIT)).filter(|id| !id.is_empty());
        facts.tokens.reported = self.value("usage").and_then(Usage::read);
        let mut failed =
            self.value("object") == Some(b"\"error\"") || self.value("type") == Some(b"\"error\"");
        match self.shape() {
            Shape::Response => failed |= self.response(facts),
            Shape::Message => self.message(facts),
            Shape::Ollama => self.ollama(facts),
            Shape::Native => self.native(facts),
            Shape::Rerank => self.rerank(facts),
            Shape::OpenAi => self.openai(facts),
        }
        facts.all_finished = facts.choices.all_finished();
        let nested = self.value("error").filter(|raw| Walker::new(raw).truthy());
        if failed || nested.is_some() {
            let said = nested.map(|raw| ErrorText::walk(&mut Walker::new(raw))).unwrap_or_default();
            let kind = self.value("error_type").or_else(|| self.value("type"));
            let flat = ErrorText { code: self.value("code"), kind, ..ErrorText::default() };
            facts.fail(ErrorType::StreamError, said.or(flat));
            on(Seen::Error);
        }
    }

    fn shape(&self) -> Shape {
        if self.value("object") == Some(b"\"response\"") {
            return Shape::Response;
        }
        if self.value("type") == Some(b"\"message\"") {
            return Shape::Message;
        }
        match self.dialect {
            Dialect::OllamaChat | Dialect::OllamaGenerate => Shape::Ollama,
            Dialect::Embeddings if self.value("prompt_eval_count").is_some() => Shape::Ollama,
            Dialect::TgiGenerate => Shape::Native,
            Dialect::Rerank => Shape::Rerank,
            _ => Shape::OpenAi,
        }
    }

    fn openai(&self, facts: &mut Facts) {
        facts.tokens.timings =
            self.value("timings").and_then(|raw| Usage::walk_timings(&mut Walker::new(raw)));
        self.reasons(facts);
    }

    /// A choice is not told from the next but by its finish reason, which each has.
    fn reasons(&self, facts: &mut Facts) {
        for (index, raw) in (0..).zip(self.skim.found()) {
            facts.choices.enter(index, finish_reason(&mut Walker::new(raw)));
        }
    }

    /// Returns whether it failed.
    fn response(&self, facts: &mut Facts) -> bool {
        let mut response = Response::default();
        for key in ["status", "incomplete_details"] {
            if let Some(raw) = self.value(key) {
                response.field(&mut Walker::new(raw), key.as_bytes());
            }
        }
        if let Some(reason) = response.reason() {
            facts.choices.enter(0, Some(reason));
        }
        response.has_failed()
    }

    fn message(&self, facts: &mut Facts) {
        let mut counts = Counts::default();
        if let Some(raw) = self.value("usage") {
            counts.walk(&mut Walker::new(raw));
        }
        facts.tokens.reported = counts.usage();
        self.reason("stop_reason", facts);
    }

    fn ollama(&self, facts: &mut Facts) {
        let mut usage = Usage::default();
        for key in ["prompt_eval_count", "eval_count"] {
            if let Some(raw) = self.value(key) {
                ollama::take_count(&mut usage, &mut Walker::new(raw), key.as_bytes());
            }
        }
        facts.tokens.reported = (usage != Usage::default()).then_some(usage);
        self.reason("done_reason", facts);
    }

    /// One answer, or several in an array.
    fn native(&self, facts: &mut Facts) {
        let sum = |key: &str| {
            let skim = &self.nested[NESTED.iter().position(|known| *known == key)?];
            let numbers = skim.found().filter_map(|raw| Walker::new(raw).unsigned());
            numbers.reduce(u64::saturating_add)
        };
        self.reasons(facts);
        let several = facts.choices.seen().len() > 1;
        let usage = Usage {
            // Whether several are answers to one prompt is not told.
            input: sum("prompt_tokens").filter(|_| !several),
            output: sum("generated_tokens").or_else(|| sum("completion_tokens")),
            cached_input: sum("cached_tokens").filter(|_| !several),
            ..Usage::default()
        };
        facts.tokens.reported = (usage != Usage::default()).then_some(usage);
    }

    fn rerank(&self, facts: &mut Facts) {
        if facts.tokens.reported.is_none() {
            facts.tokens.reported = self.value("meta").and_then(cohere_usage);
        }
    }

    fn reason(&self, key: &str, facts: &mut Facts) {
        let reason = self.value(key).and_then(|raw| Walker::new(raw).string());
        if let Some(reason) = reason.filter(|text| is_reason(text)) {
            facts.choices.enter(0, Some(reason));
        }
    }

    fn value(&self, key: &str) -> Option<&[u8]> {
        self.skim.value(key)
    }
}

/// The tokens that Cohere counted, or else billed. Search units are no tokens.
fn cohere_usage(meta: &[u8]) -> Option<Usage> {
    let (mut counted, mut billed) = (Usage::default(), Usage::default());
    let walk = |usage: &mut Usage, walker: &mut Walker<'_>| {
        walker.object(|walker, key| match key {
            b"input_tokens" => take(walker, &mut usage.input),
            b"output_tokens" => take(walker, &mut usage.output),
            _ => walker.skip(),
        });
    };
    Walker::new(meta).object(|walker, key| match key {
        b"tokens" => walk(&mut counted, walker),
        b"billed_units" => walk(&mut billed, walker),
        _ => walker.skip(),
    });
    [counted, billed].into_iter().find(|usage| *usage != Usage::default())
}
