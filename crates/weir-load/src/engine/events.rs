//! The events of one stream in order, each with its due time. They are rendered one by one as they
//! fall due, so a long stream that is cut short costs what was sent of it.

use std::time::Duration;

use bytes::Bytes;

use super::ask::{Api, UsageWanted};
use super::config::RoleChunk;
use super::generation::{Generation, Usage};
use super::pace::Pace;
use super::render::{DONE, ERROR, Renderer};

/// An event and when it may leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) due: Due,
    pub(crate) bytes: Bytes,
}

/// When an event may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// At once, even before the request has its turn.
    AtOnce,
    /// So long after the request got its turn.
    After(Duration),
}

/// What an event is.
enum Kind {
    Opening { choice: u32 },
    Chunk { choice: u32, step: u32 },
    Finish { choice: u32 },
    Usage,
    Done,
}

/// Iterator over a stream's events.
#[derive(Debug)]
pub(crate) struct Events {
    generation: Generation,
    renderer: Renderer,
    pace: Pace,
    role: RoleChunk,
    next: u64,
    /// An error event takes the place of this event, and `[DONE]` follows.
    fails_at: Option<u64>,
}

impl Events {
    pub(crate) fn new(generation: Generation, pace: Pace, role: RoleChunk, fails_at: Option<u64>) -> Self {
        let renderer = Renderer::new(&generation);
        let mut events = Events { generation, renderer, pace, role, next: 0, fails_at };
        // A stream that fails does so before its own `[DONE]`.
        events.fails_at = fails_at.map(|at| at.min(events.done_index()));
        events
    }

    /// How many events there will be in all.
    pub(crate) fn total(&self) -> u64 {
        self.fails_at.map_or(self.done_index() + 1, |at| at + 2)
    }

    /// Events of one kind of which each choice has one.
    fn choices(&self) -> u64 {
        u64::from(self.generation.ask.choices)
    }

    fn openings(&self) -> u64 {
        match self.generation.ask.api {
            Api::Chat => self.choices(),
            Api::Completions if self.generation.ask.echo.is_some() => self.choices(),
            Api::Completions => 0,
        }
    }

    fn chunks(&self) -> u64 {
        self.choices() * u64::from(self.generation.steps())
    }

    fn done_index(&self) -> u64 {
        let usage = u64::from(self.generation.ask.usage != UsageWanted::Never);
        self.openings() + self.chunks() + self.choices() + usage
    }

    /// Choices take turns, as a batch generates them.
    fn kind(&self, index: u64) -> Option<Kind> {
        let choices = self.choices();
        let chunks_start = self.openings();
        let finish_start = chunks_start + self.chunks();
        let usage_start = finish_start + choices;
        // None of these exceeds what the request gave as 32 bits.
        let narrow = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        if index < chunks_start {
            Some(Kind::Opening { choice: narrow(index) })
        } else if index < finish_start {
            let chunk = index - chunks_start;
            Some(Kind::Chunk { choice: narrow(chunk % choices), step: narrow(chunk / choices) })
        } else if index < usage_start {
            Some(Kind::Finish { choice: narrow(index - finish_start) })
        } else if index < self.done_index() {
            Some(Kind::Usage)
        } else {
            (index == self.done_index()).then_some(Kind::Done)
        }
    }

    /// Usage on an event of a single choice, where the request wants it there.
    fn running_usage(&self, steps: u32) -> Option<Usage> {
        (self.generation.ask.usage == UsageWanted::OnEvery).then(|| self.generation.usage(1, steps))
    }

    fn render(&mut self, kind: &Kind) -> Event {
        let steps = self.generation.steps();
        let due = match *kind {
            Kind::Opening { .. } if self.role == RoleChunk::Early && self.echo().is_none() => Due::AtOnce,
            // The tokens of a chunk come out of one step: they are due with the first of them.
            Kind::Chunk { step, .. } => Due::After(self.pace.due(self.generation.tokens_after(step))),
            _ => Due::After(self.pace.due(0)),
        };
        let bytes = match *kind {
            Kind::Opening { choice } => self.renderer.opening(choice, self.echo(), self.running_usage(0)),
            Kind::Chunk { choice, step } => {
                let fragment = self.generation.fragment(choice, step);
                self.renderer.chunk(choice, &fragment, self.running_usage(step + 1))
            }
            Kind::Finish { choice } => {
                let reason = self.generation.finish_reason();
                self.renderer.finish(choice, reason, self.running_usage(steps))
            }
            Kind::Usage => self.renderer.usage(self.generation.usage(self.generation.ask.choices, steps)),
            Kind::Done => DONE,
        };
        Event { due, bytes }
    }

    fn echo(&self) -> Option<&str> {
        self.generation.ask.echo.as_deref()
    }
}

impl Iterator for Events {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let index = self.next;
        self.next += 1;
        if let Some(at) = self.fails_at.filter(|&at| index >= at) {
            let due = Due::After(self.pace.due(0));
            return match index - at {
                0 => Some(Event { due, bytes: ERROR }),
                1 => Some(Event { due, bytes: DONE }),
                _ => None,
            };
        }
        let kind = self.kind(index)?;
        Some(self.render(&kind))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::draw;
    use crate::engine::ask::Ask;
    use crate::engine::config::Behaviour;

    fn behaviour() -> Behaviour {
        Behaviour { ttft: Duration::from_millis(100), tps: 100.0, ..Behaviour::default() }
    }

    fn events(api: Api, body: &Value, behaviour: &Behaviour, fails_at: Option<u64>) -> Vec<Event> {
        let ask = Ask::parse(api, body.to_string().as_bytes(), behaviour, "sim").unwrap();
        let generation = Generation { ask, id: "chatcmpl-1".into(), wording: 7 };
        let pace = Pace::new(behaviour, draw::generator(1, 1));
        Events::new(generation, pace, behaviour.role, fails_at).collect()
    }

    fn json_of(event: &Event) -> Value {
        let text = std::str::from_utf8(&event.bytes).unwrap();
        serde_json::from_str(text.strip_prefix("data: ").unwrap().strip_suffix("\n\n").unwrap()).unwrap()
    }

    #[test]
    fn a_chat_stream_reads_as_vllm_writes_it() {
        let body = json!({"max_tokens": 1, "stream_options": {"include_usage": true}});
        let events = events(Api::Chat, &body, &behaviour(), None);
        let texts: Vec<_> =
            events.iter().map(|event| String::from_utf8(event.bytes.to_vec()).unwrap()).collect();
        let head = r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"sim","choices":["#;
        assert_eq!(texts.len(), 5);
        assert_eq!(
            texts[0],
            format!(
                "{head}{}\n\n",
                r#"{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}"#
            )
        );
        assert!(json_of(&events[1])["choices"][0]["delta"]["content"].as_str().unwrap().ends_with('0'));
        assert_eq!(
            texts[2],
            format!(
                "{head}{}\n\n",
                r#"{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop","stop_reason":null}]}"#
            )
        );
        assert_eq!(
            texts[3],
            format!(
                "{head}{}\n\n",
                r#"],"usage":{"prompt_tokens":1,"total_tokens":2,"completion_tokens":1}}"#
            )
        );
        assert_eq!(texts[4], "data: [DONE]\n\n");
    }

    #[test]
    fn due_times_follow_the_first_token_of_each_chunk() {
        let behaviour = Behaviour { tokens_per_chunk: 4, ..behaviour() };
        let events = events(Api::Chat, &json!({"max_tokens": 10}), &behaviour, None);
        let dues: Vec<Due> = events.iter().map(|event| event.due).collect();
        let expected = [100, 100, 140, 180, 180, 180].map(|ms| Due::After(Duration::from_millis(ms)));
        assert_eq!(dues, expected);
    }

    #[test]
    fn an_early_role_does_not_wait() {
        let behaviour = Behaviour { role: RoleChunk::Early, ..behaviour() };
        let events = events(Api::Chat, &json!({"max_tokens": 1, "n": 2}), &behaviour, None);
        let at_once = events.iter().filter(|event| event.due == Due::AtOnce).count();
        assert_eq!(at_once, 2);
    }

    #[test]
    fn choices_take_turns() {
        let events = events(Api::Chat, &json!({"max_tokens": 2, "n": 3}), &behaviour(), None);
        let indexes: Vec<u64> = events[..events.len() - 1]
            .iter()
            .map(|event| json_of(event)["choices"][0]["index"].as_u64().unwrap())
            .collect();
        assert_eq!(indexes, [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn completions_have_no_role_and_may_echo() {
        let plain = events(Api::Completions, &json!({"max_tokens": 2}), &behaviour(), None);
        assert_eq!(plain.len(), 4);
        let body = json!({"max_tokens": 2, "echo": true, "prompt": "say \"hi\""});
        let echoed = events(Api::Completions, &body, &behaviour(), None);
        assert_eq!(echoed.len(), 5);
        assert_eq!(json_of(&echoed[0])["choices"][0]["text"], "say \"hi\"");
        assert_eq!(echoed[1..4], plain[0..3]);
    }

    #[test]
    fn usage_runs_along_where_it_is_wanted() {
        let options = json!({"include_usage": true, "continuous_usage_stats": true});
        let body = json!({"max_tokens": 2, "stream_options": options});
        let events = events(Api::Chat, &body, &behaviour(), None);
        let counts: Vec<_> = events[..5]
            .iter()
            .map(|event| json_of(event)["usage"]["completion_tokens"].as_u64().unwrap())
            .collect();
        assert_eq!(counts, [0, 1, 2, 2, 2]);
    }

    #[test]
    fn a_failing_stream_says_so_and_is_done() {
        for (at, before) in [(2, 2), (0, 0), (99, 4)] {
            let events = events(Api::Chat, &json!({"max_tokens": 2}), &behaviour(), Some(at));
            assert_eq!(events.len(), before + 2);
            assert_eq!(json_of(&events[before])["error"]["code"], 500);
            assert_eq!(events[before + 1].bytes, DONE);
        }
    }
}
