//! What was answered, put together from its parts.

use super::room::Room;
use crate::reader::{Choices, MAX_CHOICES};

/// What was answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// What each choice says, in the order in which they began.
    pub choices: Vec<Said>,
    /// There was more than is kept, or could be read.
    pub cut: bool,
}

/// What one choice says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Its index.
    pub index: u32,
    /// Its parts, in the order in which they began.
    pub parts: Vec<Part>,
    /// Why it ended, in the vendor's words; absent where it did not, or nobody said why.
    pub finish_reason: Option<Box<str>>,
}

/// One part of a choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Text, also that of speech.
    Text(String),
    /// What the model thought.
    Reasoning(String),
    /// That it will not answer.
    Refusal(String),
    /// A call of a tool.
    Call {
        /// Its id; empty where it has none.
        id: String,
        /// The name of the tool.
        name: String,
        /// The arguments as they were written: JSON, unless they are cut.
        arguments: String,
    },
}

/// The kinds of parts that are nothing but text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Reasoning,
    Refusal,
}

/// A piece of a call.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Call<'a> {
    pub(super) id: &'a str,
    pub(super) name: &'a str,
    pub(super) arguments: &'a str,
}

/// Choices that grow.
#[derive(Debug)]
pub(super) struct Growing {
    pub(super) room: Room,
    choices: Vec<Choice>,
}

#[derive(Debug)]
struct Choice {
    index: u32,
    /// Each with the place that its pieces name.
    parts: Vec<(u64, Part)>,
}

impl Growing {
    pub(super) fn new(room: Room) -> Self {
        Self { room, choices: Vec::new() }
    }

    /// Adds a piece of text to the part of this kind at this place of a choice.
    pub(super) fn text(&mut self, choice: u32, place: u64, kind: Kind, piece: &str) {
        if piece.is_empty() {
            return;
        }
        let Self { room, choices } = self;
        let part = part(choices, room, choice, place, |part| kind.of(part).is_some(), || kind.empty());
        if let Some(text) = part.and_then(|part| kind.of(part)) {
            text.push_str(room.text(piece));
        }
    }

    /// Makes the text of a choice what it is by now, for who sends the whole of it each time.
    pub(super) fn text_so_far(&mut self, choice: u32, whole: &str) {
        let known = self.parts(choice).find_map(|(_, part)| match part {
            Part::Text(text) if whole.starts_with(text.as_str()) => Some(text.len()),
            _ => None,
        });
        self.text(choice, 0, Kind::Text, whole.get(known.unwrap_or(0)..).unwrap_or_default());
    }

    /// Adds a piece of a call at this place of a choice.
    pub(super) fn call(&mut self, choice: u32, place: u64, piece: Call<'_>) {
        let Self { room, choices } = self;
        let is_call = |part: &mut Part| matches!(part, Part::Call { .. });
        let empty = || Part::Call { id: String::new(), name: String::new(), arguments: String::new() };
        let Some(Part::Call { id, name, arguments }) = part(choices, room, choice, place, is_call, empty)
        else {
            return;
        };
        // Some servers say both with each piece.
        if id.is_empty() {
            id.push_str(room.text(piece.id));
        }
        if name.is_empty() {
            name.push_str(room.text(piece.name));
        }
        arguments.push_str(room.text(piece.arguments));
    }

    /// How many calls a choice has.
    pub(super) fn calls(&self, choice: u32) -> u64 {
        self.parts(choice).filter(|(_, part)| matches!(part, Part::Call { .. })).count() as u64
    }

    /// Whether a choice has a part at this place.
    pub(super) fn has_part(&self, choice: u32, place: u64) -> bool {
        self.parts(choice).any(|(at, _)| *at == place)
    }

    /// Whether the call at this place has arguments already.
    pub(super) fn has_arguments(&self, choice: u32, place: u64) -> bool {
        self.parts(choice).any(|(at, part)| {
            *at == place && matches!(part, Part::Call { arguments, .. } if !arguments.is_empty())
        })
    }

    fn parts(&self, choice: u32) -> impl Iterator<Item = &(u64, Part)> {
        self.choices.iter().filter(move |known| known.index == choice).flat_map(|choice| &choice.parts)
    }

    /// What it came to, with why each choice ended.
    pub(super) fn finish(self, ended: &Choices) -> Output {
        let reason = |index: u32| {
            let choice = ended.seen().iter().find(|choice| choice.index == index);
            choice.and_then(|choice| choice.finish_reason.clone())
        };
        let said = |choice: Choice| Said {
            index: choice.index,
            parts: choice.parts.into_iter().map(|(_, part)| part.shrunk()).collect(),
            finish_reason: reason(choice.index),
        };
        Output { choices: self.choices.into_iter().map(said).collect(), cut: self.room.cut }
    }
}

/// The part at this place, made if there is none. `None` where there is no room for it.
fn part<'c>(
    choices: &'c mut Vec<Choice>,
    room: &mut Room,
    index: u32,
    place: u64,
    is_it: impl Fn(&mut Part) -> bool,
    empty: impl FnOnce() -> Part,
) -> Option<&'c mut Part> {
    let at = match choices.iter().position(|choice| choice.index == index) {
        Some(at) => at,
        None if choices.len() == MAX_CHOICES => {
            room.cut = true;
            return None;
        }
        None => {
            if !room.value() {
                return None;
            }
            choices.push(Choice { index, parts: Vec::new() });
            choices.len() - 1
        }
    };
    let parts = &mut choices.get_mut(at)?.parts;
    // Mostly it is the last one.
    let known = parts.iter_mut().rposition(|(known, part)| *known == place && is_it(part));
    let at = match known {
        Some(at) => at,
        None if room.value() => {
            parts.push((place, empty()));
            parts.len() - 1
        }
        None => return None,
    };
    parts.get_mut(at).map(|(_, part)| part)
}

impl Part {
    /// The same without room to grow: it may wait for long.
    fn shrunk(mut self) -> Self {
        match &mut self {
            Self::Text(text) | Self::Reasoning(text) | Self::Refusal(text) => text.shrink_to_fit(),
            Self::Call { id, name, arguments } => {
                [id, name, arguments].into_iter().for_each(String::shrink_to_fit);
            }
        }
        self
    }
}

impl Kind {
    fn empty(self) -> Part {
        match self {
            Self::Text => Part::Text(String::new()),
            Self::Reasoning => Part::Reasoning(String::new()),
            Self::Refusal => Part::Refusal(String::new()),
        }
    }

    /// The text of a part, if it is of this kind.
    fn of(self, part: &mut Part) -> Option<&mut String> {
        match (self, part) {
            (Self::Text, Part::Text(text))
            | (Self::Reasoning, Part::Reasoning(text))
            | (Self::Refusal, Part::Refusal(text)) => Some(text),
            _ => None,
        }
    }
}
