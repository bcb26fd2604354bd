//! OpenAI responses: an answer as a list of items, streamed as typed and numbered events.

use bytes::Bytes;

use self::items::Item;
use self::object::{Object, Status};
use super::blocks::{Block, Place};
use super::openai::{Tools, model_of};
use super::script::{Counts, Request, Script, named};
use crate::engine::ask::{Ask, Content, Prompt, Terms, Wish, count_tokens, text_of};
use crate::engine::events::{Due, Event};
use crate::engine::fields::{Fields, json};
use crate::engine::generation::{Finish, Generation};
use crate::engine::refusal::{Refusal, SIMULATED};

mod items;
mod object;

/// How one response is written.
#[derive(Debug)]
pub(crate) struct Responses {
    /// What makes its ids differ from those of other responses.
    id: String,
    object: Object,
    /// The number of the next event.
    sequence: u64,
}

/// Reads a request.
pub(crate) fn read(body: &[u8], terms: &Terms<'_>) -> Result<Request, Refusal> {
    let body = json(body)?;
    let fields = Fields::of(&body)?;
    let input = fields.needed("input")?;
    fields.check_temperature()?;
    let text = [text_of(fields.value("instructions")), text_of(input)].join(" ");
    let text = text.trim().to_owned();
    let mut wish = Wish {
        model: fields.text("model")?.map(str::to_owned),
        stream: fields.flag("stream")?,
        prompts: vec![Prompt { tokens: count_tokens(&text), text }],
        limit: fields.tokens("max_output_tokens")?,
        past_end: fields.flag("ignore_eos")?,
        seed: fields.integer("seed")?,
        ..Wish::default()
    };
    if fields.inner("reasoning")?.text("effort")?.is_some_and(|effort| effort != "none") {
        wish.content = Content::Reasoning;
    }
    let last = input.as_array().and_then(|items| items.last());
    let answered = last.is_some_and(|item| item["type"] == "function_call_output");
    Tools::of(&fields, "/name")?.add_to(&mut wish, answered);
    let object = Object::new(&fields, format!("resp_{}", terms.id), model_of(&wish, terms));
    let script = Responses { id: terms.id.to_owned(), object, sequence: 0 };
    Ok(Request { ask: Ask::settle(wish, terms)?, script: Box::new(script) })
}

impl Responses {
    /// An event of that type with those members.
    fn event(&mut self, kind: &str, members: &str) -> Bytes {
        let sequence = self.sequence;
        self.sequence += 1;
        numbered(kind, members, sequence)
    }

    fn lifecycle(&mut self, kind: &str, response: &str) -> Bytes {
        self.event(kind, &format!(r#""response":{response}"#))
    }

    fn item(&self, place: Place) -> Item<'_> {
        Item { id: &self.id, place }
    }

    fn write(&mut self, events: Vec<(&'static str, String)>) -> Vec<Bytes> {
        events.into_iter().map(|(kind, members)| self.event(kind, &members)).collect()
    }

    /// The items of the whole answer.
    fn output(&self, generation: &Generation) -> String {
        let said = generation.said(0);
        let places = Place::all(generation);
        let items: Vec<String> =
            places.into_iter().map(|place| self.item(place).done(&said, generation.finish())).collect();
        format!("[{}]", items.join(","))
    }

    fn ended(&self, generation: &Generation) -> String {
        let status = match generation.finish() {
            Finish::Length => Status::Incomplete,
            Finish::Stop | Finish::ToolCalls => Status::Completed,
        };
        self.object.render(status, &self.output(generation), Some(generation.total_usage()))
    }
}

fn numbered(kind: &str, members: &str, sequence: u64) -> Bytes {
    named(kind, &format!(r#"{{{members},"sequence_number":{sequence},"type":"{kind}"}}"#))
}

impl Script for Responses {
    fn counts(&self, generation: &Generation) -> Counts {
        let chunks = u64::from(generation.steps());
        let (steps, closing) = match Place::last(generation) {
            // The first chunk of a call is its opening, unless it is the only one.
            Place { block: Block::Call, .. } => (1 + chunks - u64::from(chunks > 1), 2),
            // Between the items stand three events that end one and two that begin one.
            Place { index: 1, .. } => (2 + chunks + 5, 3),
            Place { .. } => (2 + chunks, 3),
        };
        Counts { opening: 2, steps, closing: closing + 1, failure: 2 }
    }

    /// Both say only that the request was taken, so nothing keeps them.
    fn opening(&mut self, _: &Generation) -> Vec<Event> {
        let response = self.object.render(Status::InProgress, "[]", None);
        ["response.created", "response.in_progress"]
            .map(|kind| Event { due: Due::AtOnce, bytes: self.lifecycle(kind, &response) })
            .to_vec()
    }

    fn step(&mut self, generation: &Generation, step: u32) -> Vec<Bytes> {
        let place = Place::of(generation, step);
        let fragment = generation.fragment(0, step);
        let mut events = Vec::new();
        if place.opens && place.index > 0 {
            let ended = self.item(Place::of(generation, step - 1));
            events.extend(ended.closing(&generation.said(0), Finish::Stop));
        }
        let item = self.item(place);
        if place.opens {
            events.extend(item.opening(&fragment));
        }
        events.extend(item.delta(&fragment));
        self.write(events)
    }

    fn closing(&mut self, generation: &Generation) -> Vec<Bytes> {
        let item = self.item(Place::last(generation));
        let events = item.closing(&generation.said(0), generation.finish());
        let mut events = self.write(events);
        let kind = match generation.finish() {
            Finish::Length => "response.incomplete",
            Finish::Stop | Finish::ToolCalls => "response.completed",
        };
        let ended = self.ended(generation);
        events.push(self.lifecycle(kind, &ended));
        events
    }

    fn failure(&self, _: &Generation, at: u64) -> Vec<Bytes> {
        let error = format!(r#""code":"server_error","message":"{SIMULATED}","param":null"#);
        let failed = self.object.render(Status::Failed, "[]", None);
        vec![
            numbered("error", &error, at),
            numbered("response.failed", &format!(r#""response":{failed}"#), at + 1),
        ]
    }

    fn whole(&mut self, generation: &Generation) -> Bytes {
        Bytes::from(self.ended(generation))
    }
}
