//! Messages as files hold them.

use serde::Deserialize;

use crate::bench::ask::Message;

#[derive(Deserialize)]
pub(super) struct RawMessage {
    role: Role,
    content: String,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    System,
    User,
    Assistant,
}

impl RawMessage {
    pub(super) fn role(&self) -> Role {
        self.role
    }
}

impl From<RawMessage> for Message {
    fn from(raw: RawMessage) -> Self {
        message(raw.role, raw.content)
    }
}

pub(super) fn message(role: Role, content: String) -> Message {
    let role = match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    Message { role: role.to_owned(), content }
}
