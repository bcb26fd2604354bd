//! The admin surface of Weir: metrics page, health, readiness and the API.
//!
//! It serves what it is handed and knows nobody: pages, exchanges and what becomes of commands come from
//! whoever stands at the other end of bounded channels, snapshots and readiness from watches.

mod accept;
mod api;
mod config;
mod guard;
mod handles;
mod pages;
mod refusal;
mod rendered;
mod reply;
mod routes;
mod server;
mod stream;

pub use api::snapshot_schema;
pub use config::{AdminConfig, DEFAULT_LISTEN, Token};
pub use handles::AdminHandles;
pub use server::Admin;
