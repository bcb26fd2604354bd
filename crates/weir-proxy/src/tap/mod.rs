//! Where bytes pass under observation: the request before it is sent on, the response as it flows.

mod body;
mod idle;
mod record;
mod request;
mod watch;

pub(crate) use body::{ProxyBody, Tap};
pub(crate) use record::Record;
pub(crate) use request::{RequestBody, read};
