//! Conversations: a turn waits for the answer before it.

use std::collections::{HashMap, VecDeque};

use crate::bench::ask::{Ask, Prompt, Turn};

/// The conversations under way.
#[derive(Debug, Default)]
pub(super) struct Conversations {
    open: HashMap<u64, Conversation>,
}

#[derive(Debug, Default)]
struct Conversation {
    /// What the server answered so far.
    answers: Vec<String>,
    /// When it answered last, in nanoseconds after the start of the run.
    answered_ns: u64,
    state: State,
    /// Turns that wait, each with its number in the run.
    waiting: VecDeque<(u64, Ask)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing of it is under way.
    #[default]
    Idle,
    /// A turn of it is due or being answered.
    Busy,
    /// A turn of it was not answered.
    Lost,
}

/// What is to be done with a turn.
#[derive(Debug, PartialEq)]
pub(super) enum Place {
    /// It need not wait for an answer; the last one came so long after the start of the run.
    Now(Ask, u64),
    /// It waits for the answer before it.
    Later,
    /// It is left: there is no answer before it.
    Never,
}

impl Conversations {
    /// Takes a turn in. One whose conversation nobody has opened opens it, whichever turn it is.
    pub(super) fn place(&mut self, index: u64, turn: Turn, ask: Ask) -> Place {
        let conversation = self.open.entry(turn.conversation).or_default();
        match conversation.state {
            State::Idle => {
                conversation.state = State::Busy;
                Place::Now(told(ask, &conversation.answers), conversation.answered_ns)
            }
            State::Busy => {
                conversation.waiting.push_back((index, ask));
                Place::Later
            }
            State::Lost => Place::Never,
        }
    }

    /// The turn after one that was answered with `text` at `at_ns`, told what was answered so far.
    pub(super) fn answered(&mut self, conversation: u64, text: String, at_ns: u64) -> Option<(u64, Ask)> {
        let open = self.open.get_mut(&conversation)?;
        open.answers.push(text);
        open.answered_ns = at_ns;
        let Some((index, ask)) = open.waiting.pop_front() else {
            open.state = State::Idle;
            return None;
        };
        Some((index, told(ask, &open.answers)))
    }

    /// Ends a conversation of which a turn has no answer; gives how many turns it leaves.
    pub(super) fn abandon(&mut self, conversation: u64) -> u64 {
        let lost = Conversation { state: State::Lost, ..Conversation::default() };
        self.open.insert(conversation, lost).map_or(0, |open| open.waiting.len() as u64)
    }

    /// Turns that still wait for an answer.
    pub(super) fn waiting(&self) -> u64 {
        self.open.values().map(|open| open.waiting.len() as u64).sum()
    }
}

/// The turn with the last of `answers` in the places of the assistant's own last messages.
fn told(mut ask: Ask, answers: &[String]) -> Ask {
    if let Prompt::Messages(messages) = &mut ask.prompt {
        let places = messages.iter_mut().rev().filter(|message| message.role == "assistant");
        for (message, answer) in places.zip(answers.iter().rev()) {
            message.content.clone_from(answer);
        }
    }
    ask
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::bench::ask::Message;

    fn turn(nth: u32, messages: &[(&str, &str)]) -> (Turn, Ask) {
        let message =
            |&(role, content): &(&str, &str)| Message { role: role.into(), content: content.into() };
        let turn = Turn { conversation: 4, nth, pause: Duration::ZERO };
        let prompt = Prompt::Messages(messages.iter().map(message).collect());
        (turn, Ask { prompt, turn: Some(turn), ..Ask::new("") })
    }

    #[test]
    fn a_turn_is_told_what_was_answered() {
        let mut conversations = Conversations::default();
        let (first, ask) = turn(0, &[("user", "1")]);
        assert!(matches!(conversations.place(0, first, ask), Place::Now(..)));
        let (second, ask) = turn(1, &[("user", "1"), ("assistant", "?"), ("user", "2")]);
        assert!(matches!(conversations.place(1, second, ask), Place::Later));
        let (index, next) = conversations.answered(4, "one".into(), 5).unwrap();
        let (_, expected) = turn(1, &[("user", "1"), ("assistant", "one"), ("user", "2")]);
        assert_eq!((index, next), (1, expected));
        // A turn that comes after the last answer need not wait.
        assert!(conversations.answered(4, "two".into(), 9).is_none());
        let (third, ask) = turn(2, &[("assistant", "?"), ("assistant", "?"), ("user", "3")]);
        let (_, told) = turn(2, &[("assistant", "one"), ("assistant", "two"), ("user", "3")]);
        assert_eq!(conversations.place(2, third, ask), Place::Now(told, 9));
    }

    #[test]
    fn without_an_answer_the_rest_is_left() {
        let mut conversations = Conversations::default();
        for nth in 0..3 {
            let (turn, ask) = turn(nth, &[]);
            conversations.place(u64::from(nth), turn, ask);
        }
        assert_eq!(conversations.waiting(), 2);
        assert_eq!(conversations.abandon(4), 2);
        assert_eq!(conversations.waiting(), 0);
        let (late, ask) = turn(3, &[]);
        assert_eq!(conversations.place(3, late, ask), Place::Never);
    }
}
