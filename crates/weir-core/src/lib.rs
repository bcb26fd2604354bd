//! The vocabulary of Weir, shared by every other crate: what an exchange is, how a response body
//! is read, and what is recorded of it.
//!
//! This crate is pure. It reads no clock, opens no socket, spawns no task and logs nothing: time
//! and bytes are arguments. So it can be fuzzed, and a recorded file can be replayed through it.

pub mod content;
pub mod dialect;
pub mod draft;
pub mod error_class;
pub mod exchange;
pub mod gaps;
pub mod inflight;
pub mod json;
pub mod lanes;
pub mod observation;
pub mod outcome;
pub mod page;
pub mod policy;
pub mod prompt_hash;
pub mod queueing;
pub mod reader;
pub mod setting;
pub mod sse;
pub mod stage;
pub mod tally;
pub mod timeline;
pub mod trace;
pub mod unpack;
pub mod usage;
