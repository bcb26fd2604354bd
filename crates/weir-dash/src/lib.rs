//! The admin surface of Weir: metrics page, health and readiness.
//!
//! It serves what it is handed and knows nobody: pages come from whoever stands at the other end
//! of a bounded channel, readiness from a watch.

mod accept;
mod admin;

pub use admin::{Admin, AdminHandles, DEFAULT_LISTEN};
