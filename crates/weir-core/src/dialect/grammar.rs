//! What the events of a stream speak. The path lets expect one grammar; the events themselves may
//! tell another.

use super::chunk::Chunk;
use super::messages::Counts;
use super::sglang::Growth;
use super::transcript::Transcript;
use super::{Dialect, messages, ollama, openai_chunk, responses, tgi};
use crate::json::walk::Walker;
use crate::reader::Choices;
use crate::sse::Event;

/// How the events of a stream are read, with what must be known of those before.
#[derive(Debug)]
pub(crate) enum Grammar {
    /// Not at all: nothing is known of them.
    Unknown,
    /// OpenAI's chat, completions, and what is modelled on them.
    Chunks,
    Responses,
    Messages(Counts),
    Ollama,
    Tgi,
    Sglang(Growth),
    Transcript(Transcript),
}

impl Grammar {
    /// What a path lets expect.
    pub(crate) fn expected(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Chat | Dialect::Completions => Self::Chunks,
            Dialect::Responses => Self::Responses,
            Dialect::Messages => Self::Messages(Counts::default()),
            Dialect::OllamaChat | Dialect::OllamaGenerate => Self::Ollama,
            Dialect::TgiGenerate => Self::Tgi,
            Dialect::Transcription => Self::Transcript(Transcript::default()),
            Dialect::Embeddings | Dialect::Rerank | Dialect::Other => Self::Unknown,
        }
    }

    /// What an event itself tells, by marks that no other grammar has; `None` if it bears none.
    pub(crate) fn told_by(data: &[u8]) -> Option<Self> {
        let mut walker = Walker::new(data);
        let mut marks = Marks::default();
        walker.object(|walker, key| marks.look(walker, key));
        if walker.finished() { marks.tell() } else { None }
    }

    /// Reads an event, and enters its choices. `None` if it is not a JSON object.
    pub(crate) fn read<'a>(&mut self, event: Event<'a>, choices: &mut Choices) -> Option<Chunk<'a>> {
        match self {
            Self::Chunks => openai_chunk::read(event.data, choices),
            Self::Responses => responses::read(event, choices),
            Self::Messages(counts) => messages::read(event, counts, choices),
            Self::Ollama => ollama::read(event.data, choices),
            Self::Tgi => tgi::read(event.data, choices),
            Self::Sglang(growth) => growth.read(event.data, choices),
            Self::Transcript(transcript) => transcript.read(event),
            Self::Unknown => None,
        }
    }

    pub(crate) fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown)
    }

    /// Whether an error is the last that such a stream says.
    pub(crate) fn ends_with_an_error(&self) -> bool {
        matches!(self, Self::Responses)
    }

    /// Whether the terminal event ends the answer with or without a finish reason, which a server
    /// need not give, or cannot.
    pub(crate) fn ends_without_a_reason(&self) -> bool {
        matches!(self, Self::Ollama | Self::Tgi | Self::Transcript(_))
    }
}

/// What an event bears that tells its grammar.
#[derive(Debug, Default)]
struct Marks {
    /// By a word that says so.
    named: Option<Grammar>,
    // By two keys that stand together in no other grammar.
    has_delta: bool,
    has_token: bool,
    has_generated_text: bool,
    has_meta: bool,
    has_text: bool,
    has_body: bool,
    has_done: bool,
}

impl Marks {
    fn look(&mut self, walker: &mut Walker<'_>, key: &[u8]) {
        match key {
            b"type" => self.named = self.named.take().or(walker.string().and_then(by_type)),
            b"object" => self.named = self.named.take().or(walker.string().and_then(by_object)),
            b"choices" => {
                walker.array(|walker| self.has_delta |= has(walker, b"delta"));
            }
            b"token" => self.has_token = has(walker, b"special"),
            b"meta_info" => self.has_meta = has(walker, b"completion_tokens"),
            b"message" => self.has_body |= has(walker, b"role"),
            b"response" => self.has_body |= walker.string().is_some(),
            b"done" => self.has_done = walker.boolean().is_some(),
            b"generated_text" => {
                self.has_generated_text = true;
                walker.skip();
            }
            b"text" | b"output_ids" => {
                self.has_text = true;
                walker.skip();
            }
            _ => walker.skip(),
        }
    }

    fn tell(self) -> Option<Grammar> {
        if self.named.is_some() {
            self.named
        } else if self.has_delta {
            Some(Grammar::Chunks)
        } else if self.has_token && self.has_generated_text {
            Some(Grammar::Tgi)
        } else if self.has_meta && self.has_text {
            Some(Grammar::Sglang(Growth::default()))
        } else if self.has_body && self.has_done {
            Some(Grammar::Ollama)
        } else {
            None
        }
    }
}

fn by_type(text: &[u8]) -> Option<Grammar> {
    match text {
        b"message_start"
        | b"message_delta"
        | b"message_stop"
        | b"content_block_start"
        | b"content_block_delta"
        | b"content_block_stop" => Some(Grammar::Messages(Counts::default())),
        _ if text.starts_with(b"response.") => Some(Grammar::Responses),
        _ if text.starts_with(b"transcript.text.") => Some(Grammar::Transcript(Transcript::default())),
        _ => None,
    }
}

fn by_object(text: &[u8]) -> Option<Grammar> {
    let known: [&[u8]; 4] =
        [b"chat.completion.chunk", b"text_completion", b"transcription.chunk", b"translation.chunk"];
    known.contains(&text).then_some(Grammar::Chunks)
}

/// Whether the object at the walker's place has a key. Moves past it.
fn has(walker: &mut Walker<'_>, wanted: &[u8]) -> bool {
    let mut found = false;
    walker.object(|walker, key| {
        found |= key == wanted;
        walker.skip();
    });
    found
}
