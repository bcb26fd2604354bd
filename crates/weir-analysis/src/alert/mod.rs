//! Alerts: rules as users write them, and the states that they go through.
//!
//! [`Rules::parse`] reads a file. What it says is told to users in `docs/alerts.md`.

pub mod action;
pub mod condition;
pub mod figure;
pub mod mistake;
pub mod rules;
pub mod secret;
pub mod signal;
pub mod unit;

mod action_file;
mod environment;
mod fields;
mod grammar;
mod lexer;
mod naming;
mod rule_file;
mod yaml;

pub use condition::Condition;
pub use lexer::Fault;
pub use mistake::{Mistake, Place};
pub use rules::{Parsed, Rule, Rules, Severity};
pub use signal::{Signal, Signals};
