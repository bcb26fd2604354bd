//! What Weir takes from a request body. The body itself is passed on as it is.

mod form;
mod parameters;
mod settings;
#[cfg(test)]
mod tests;

use super::Dialect;
use crate::exchange::Caller;
use crate::json::skim::Skim;
use crate::json::text;
use crate::json::walk::{Kind, Walker};
use crate::setting::Setting;

use form::Form;

/// Model names longer than this are taken for absent.
const MODEL_LIMIT: usize = 256;

/// What of a request head decides how its body is read.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'a> {
    /// The dialect that method and path name.
    pub dialect: Dialect,
    /// The path, with or without a query.
    pub path: &'a str,
    /// The value of `content-type`.
    pub content_type: Option<&'a [u8]>,
}

/// What a request asks for, as far as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestPeek {
    /// The model asked for; absent unless it is a string of bounded length.
    pub model: Option<Box<str>>,
    /// Whether the answer is to be streamed.
    pub stream: bool,
    /// How many choices are asked for, for each prompt.
    pub choices: u32,
    /// How many prompts there are.
    pub prompts: Prompts,
    /// Whether the stream is to end with a usage event.
    pub include_usage: bool,
    /// Whether the prompt comes back before what is generated.
    pub echo: bool,
    /// Whether the answer is to be worked out even if nobody waits for it.
    pub background: bool,
    /// Whether the body ended inside what was seen, so that what is absent here is absent there.
    pub complete: bool,
    /// How to generate.
    pub settings: Box<[Setting]>,
    /// On whose behalf.
    pub caller: Caller,
    /// The keyed hash of the prompt's head, where one is asked for. Whoever peeks fills it in.
    pub prompt_hash: Option<Box<str>>,
}

/// How many prompts a request has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompts {
    /// So many.
    Counted(u32),
    /// So many were seen of an array whose end was not.
    AtLeast(u32),
}

impl Default for RequestPeek {
    fn default() -> Self {
        Self {
            model: None,
            stream: false,
            choices: 1,
            prompts: Prompts::Counted(1),
            include_usage: false,
            echo: false,
            background: false,
            complete: false,
            settings: Box::default(),
            prompt_hash: None,
            caller: Caller::default(),
        }
    }
}

impl RequestPeek {
    /// Looks into the beginning of a body, in as many parts as it came in. What is held of it is
    /// bounded, whatever its length.
    pub fn scan<'a>(head: &RequestHead<'_>, body_parts: impl Iterator<Item = &'a [u8]>) -> Self {
        match Form::of(head.content_type.unwrap_or_default(), &["model", "stream"]) {
            Some(form) => Self::of_form(head, form, body_parts),
            None => Self::of_json(head, body_parts),
        }
    }

    /// How many choices are asked for, for all prompts together; absent where there may be more prompts
    /// than were seen.
    pub fn expected_choices(&self) -> Option<u32> {
        match self.prompts {
            Prompts::Counted(_) => Some(self.all_choices()),
            Prompts::AtLeast(_) => None,
        }
    }

    /// How many choices are asked for, for all prompts together; at least so many, where there may be
    /// more prompts than were seen.
    pub fn all_choices(&self) -> u32 {
        let (Prompts::Counted(prompts) | Prompts::AtLeast(prompts)) = self.prompts;
        self.choices.max(1).saturating_mul(prompts.max(1))
    }

    fn of_json<'a>(head: &RequestHead<'_>, body_parts: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut skim = Skim::new(KEYS, None).counting(prompt_keys(head.dialect));
        body_parts.for_each(|part| skim.feed(part));
        let is_true = |key| skim.value(key) == Some(b"true");
        Self {
            model: skim.value("model").and_then(|raw| text(raw, MODEL_LIMIT)),
            stream: match streams_unless_told(head) {
                true => skim.value("stream") != Some(b"false"),
                false => streams_by_path(head) || is_true("stream"),
            },
            choices: choices(head.dialect, &skim),
            prompts: prompts(&skim),
            include_usage: inside(&skim, "stream_options", b"include_usage", Walker::boolean) == Some(true),
            echo: is_true("echo"),
            background: is_true("background"),
            complete: skim.is_complete(),
            prompt_hash: None,
            settings: settings::read(&skim),
            caller: caller(&skim),
        }
    }

    fn of_form<'a>(
        head: &RequestHead<'_>,
        mut form: Form,
        body_parts: impl Iterator<Item = &'a [u8]>,
    ) -> Self {
        body_parts.for_each(|part| form.feed(part));
        let name = form.value("model").and_then(|value| std::str::from_utf8(value).ok());
        Self {
            model: name.filter(|name| !name.is_empty() && name.len() <= MODEL_LIMIT).map(Into::into),
            stream: streams_by_path(head) || form.value("stream").is_some_and(is_yes),
            complete: form.is_complete(),
            ..Self::default()
        }
    }
}

/// What a body may say, whatever its dialect.
const KEYS: &[&str] = &[
    "model",
    "stream",
    "n",
    "stream_options",
    "echo",
    "background",
    "sampling_params",
    "options",
    "parameters",
    "temperature",
    "top_p",
    "top_k",
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "frequency_penalty",
    "presence_penalty",
    "seed",
    "stop",
    "stop_sequences",
    "service_tier",
    "reasoning_effort",
    "reasoning",
    "response_format",
    "user",
    "safety_identifier",
    "metadata",
    "conversation",
];

/// Longer names of users and sessions are taken for absent.
const CALLER_LIMIT: usize = 200;

/// The user, as OpenAI and Anthropic have it; the conversation, as Responses has it.
fn caller(skim: &Skim) -> Caller {
    let own = |key| skim.value(key).and_then(|raw| text(raw, CALLER_LIMIT));
    let nested = |key, wanted| {
        let raw = inside(skim, key, wanted, |walker| Some(walker.raw()))?;
        text(raw, CALLER_LIMIT)
    };
    let user = own("user").or_else(|| own("safety_identifier")).or_else(|| nested("metadata", b"user_id"));
    let session = own("conversation").or_else(|| nested("conversation", b"id"));
    Caller {
        session: session.filter(|session| !session.is_empty()),
        user: user.filter(|user| !user.is_empty()),
    }
}

/// The keys under which several prompts may stand, each of which is answered on its own.
fn prompt_keys(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Completions => &["prompt"],
        // SGLang's.
        Dialect::TgiGenerate => &["text", "input_ids"],
        _ => &[],
    }
}

/// Several texts, or several lists of tokens. A list of tokens alone is one prompt.
fn prompts(skim: &Skim) -> Prompts {
    match skim.elements() {
        Some(elements) if elements.first == Kind::Number => Prompts::Counted(1),
        Some(elements) if elements.closed => Prompts::Counted(elements.count.max(1)),
        Some(elements) => Prompts::AtLeast(elements.count.max(1)),
        None => Prompts::Counted(1),
    }
}

fn choices(dialect: Dialect, skim: &Skim) -> u32 {
    let asked = match dialect {
        Dialect::Chat | Dialect::Completions => skim.value("n").and_then(|raw| Walker::new(raw).unsigned()),
        Dialect::TgiGenerate => inside(skim, "sampling_params", b"n", Walker::unsigned),
        _ => None,
    };
    u32::try_from(asked.unwrap_or(1).max(1)).unwrap_or(u32::MAX)
}

/// A value inside the object under a key. Of a repeated key the last.
fn inside<'a, T>(
    skim: &'a Skim,
    key: &str,
    wanted: &[u8],
    read: fn(&mut Walker<'a>) -> Option<T>,
) -> Option<T> {
    let mut found = None;
    Walker::new(skim.value(key)?).object(|walker, key| match key == wanted {
        true => found = read(walker),
        false => walker.skip(),
    });
    found
}

/// Whether the dialect streams unless it is told not to.
fn streams_unless_told(head: &RequestHead<'_>) -> bool {
    matches!(head.dialect, Dialect::OllamaChat | Dialect::OllamaGenerate)
}

/// Whether the path is that of a stream.
fn streams_by_path(head: &RequestHead<'_>) -> bool {
    let path = head.path.split(['?', '#']).next().unwrap_or(head.path);
    path.strip_suffix('/').unwrap_or(path).ends_with("/generate_stream")
}

/// Whether a form's field says yes: forms have no truth values, and servers in Python take these words.
fn is_yes(value: &[u8]) -> bool {
    let words: [&[u8]; 6] = [b"true", b"1", b"on", b"yes", b"y", b"t"];
    words.iter().any(|word| value.trim_ascii().eq_ignore_ascii_case(word))
}
