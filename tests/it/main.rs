//! The proxy over real sockets: what passes it, what is recorded of that, and how it ends.

// The lints' exemption for tests covers test functions, not the helpers they share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod content;
mod corpus;
mod edge;
mod engine_traces;
mod faults;
mod harness;
mod http2;
mod kept;
mod leaving;
mod limits;
mod packed;
mod pressure;
mod prompt_hash;
mod shutdown;
mod silence;
mod smuggling;
mod tls;
mod token_rule;
mod trace_context;
mod transparency;
mod truth;
mod tunnel;
