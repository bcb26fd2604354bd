//! The proxy over real sockets: what passes it, what is recorded of that, and how it ends.

// The lints' exemption for tests covers test functions, not the helpers they share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod harness;
mod transparency;
