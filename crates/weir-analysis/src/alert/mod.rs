//! Alerts: rules as users write them, and the states that they go through.
//!
//! [`Rules::parse`] reads a file, [`Alerts::evaluate`] holds it against the figures. What it says is told to users in `docs/alerts.md`.

pub mod action;
pub mod condition;
pub mod figure;
pub mod mistake;
pub mod prometheus;
pub mod rules;
pub mod secret;
pub mod signal;
pub mod status;
pub mod unit;

mod action_file;
mod alerts;
mod baseline;
mod environment;
mod fields;
mod grammar;
mod judge;
mod keep;
mod lexer;
mod naming;
mod prometheus_slo;
mod promql;
mod rule_file;
mod track;
mod yaml;

pub use alerts::Alerts;
pub use condition::Condition;
pub use lexer::Fault;
pub use mistake::{Mistake, Place};
pub use rules::{Parsed, Rule, Rules, Severity};
pub use signal::{Signal, Signals};
pub use status::{AlertState, AlertStatus, Cause, Transition};
