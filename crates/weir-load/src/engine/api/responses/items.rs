//! The items of a response: reasoning, a message, a call of a function, and their events.

use crate::engine::api::blocks::{Block, Place};
use crate::engine::generation::{Finish, Fragment, Said, quote};

/// An event's type and members, without its number.
type Members = (&'static str, String);

/// One item.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item<'a> {
    /// The part of its id that is the response's.
    pub(crate) id: &'a str,
    pub(crate) place: Place,
}

impl Item<'_> {
    fn item_id(self) -> String {
        let prefix = match self.place.block {
            Block::Reasoning => "rs",
            Block::Text => "msg",
            Block::Call => "fc",
        };
        quote(&format!("{prefix}_{}", self.id))
    }

    /// The members that place an event of its only content.
    fn at(self) -> String {
        format!(r#""content_index":0,"item_id":{},"output_index":{}"#, self.item_id(), self.place.index)
    }

    fn added(self, item: &str) -> Members {
        let index = self.place.index;
        ("response.output_item.added", format!(r#""item":{item},"output_index":{index}"#))
    }

    /// What begins it; a call says its function.
    pub(crate) fn opening(self, first: &Fragment) -> Vec<Members> {
        let id = self.item_id();
        let part = |part: &str| ("response.content_part.added", format!(r#"{},"part":{part}"#, self.at()));
        match first {
            Fragment::ToolOpening { id: call, function, .. } => vec![self.added(&format!(
                r#"{{"id":{id},"type":"function_call","status":"in_progress","arguments":"","call_id":"{call}","name":{}}}"#,
                quote(function)
            ))],
            Fragment::Reasoning(_) => vec![
                self.added(&format!(
                    r#"{{"id":{id},"type":"reasoning","status":"in_progress","summary":[],"content":[],"encrypted_content":null}}"#
                )),
                part(r#"{"type":"reasoning_text","text":""}"#),
            ],
            Fragment::Text(_) | Fragment::ToolArguments(_) => vec![
                self.added(&format!(
                    r#"{{"id":{id},"type":"message","status":"in_progress","role":"assistant","content":[]}}"#
                )),
                part(r#"{"type":"output_text","annotations":[],"logprobs":[],"text":""}"#),
            ],
        }
    }

    /// What a chunk adds to it.
    pub(crate) fn delta(self, fragment: &Fragment) -> Option<Members> {
        match fragment {
            Fragment::Text(text) => Some((
                "response.output_text.delta",
                format!(r#"{},"delta":"{text}","logprobs":[]"#, self.at()),
            )),
            Fragment::Reasoning(text) => {
                Some(("response.reasoning_text.delta", format!(r#"{},"delta":"{text}""#, self.at())))
            }
            Fragment::ToolOpening { arguments: "", .. } => None,
            Fragment::ToolOpening { arguments, .. } => Some(self.arguments(arguments)),
            Fragment::ToolArguments(arguments) => Some(self.arguments(arguments)),
        }
    }

    fn arguments(self, arguments: &str) -> Members {
        let (id, index) = (self.item_id(), self.place.index);
        (
            "response.function_call_arguments.delta",
            format!(r#""delta":"{arguments}","item_id":{id},"output_index":{index}"#),
        )
    }

    /// What ends it.
    pub(crate) fn closing(self, said: &Said, finish: Finish) -> Vec<Members> {
        let at = self.at();
        let index = self.place.index;
        let mut events = match self.place.block {
            Block::Text => vec![
                ("response.output_text.done", format!(r#"{at},"logprobs":[],"text":"{}""#, said.text)),
                ("response.content_part.done", format!(r#"{at},"part":{}"#, text_part(&said.text))),
            ],
            Block::Reasoning => vec![
                ("response.reasoning_text.done", format!(r#"{at},"text":"{}""#, said.reasoning)),
                ("response.content_part.done", format!(r#"{at},"part":{}"#, reasoning_part(&said.reasoning))),
            ],
            Block::Call => said
                .call
                .iter()
                .map(|call| {
                    let members = format!(
                        r#""arguments":"{}","item_id":{},"name":{},"output_index":{index}"#,
                        call.arguments,
                        self.item_id(),
                        quote(&call.function)
                    );
                    ("response.function_call_arguments.done", members)
                })
                .collect(),
        };
        let item = self.done(said, finish);
        events.push(("response.output_item.done", format!(r#""item":{item},"output_index":{index}"#)));
        events
    }

    /// The item once it is complete, or cut short.
    pub(crate) fn done(self, said: &Said, finish: Finish) -> String {
        let id = self.item_id();
        // What was cut is the last item; the reasoning before it is complete.
        let status = match finish {
            Finish::Length if self.place.block != Block::Reasoning => "incomplete",
            Finish::Length | Finish::Stop | Finish::ToolCalls => "completed",
        };
        match (self.place.block, &said.call) {
            (Block::Call, Some(call)) => format!(
                r#"{{"id":{id},"type":"function_call","status":"{status}","arguments":"{}","call_id":"{}","name":{}}}"#,
                call.arguments,
                call.id,
                quote(&call.function)
            ),
            (Block::Reasoning, _) => format!(
                r#"{{"id":{id},"type":"reasoning","status":"{status}","summary":[],"content":[{}],"encrypted_content":null}}"#,
                reasoning_part(&said.reasoning)
            ),
            (Block::Text | Block::Call, _) => format!(
                r#"{{"id":{id},"type":"message","status":"{status}","role":"assistant","content":[{}]}}"#,
                text_part(&said.text)
            ),
        }
    }
}

fn text_part(text: &str) -> String {
    format!(r#"{{"type":"output_text","annotations":[],"logprobs":[],"text":"{text}"}}"#)
}

fn reasoning_part(text: &str) -> String {
    format!(r#"{{"type":"reasoning_text","text":"{text}"}}"#)
}
