//! Numbers from observations: windows, SLOs and their budgets, alerts, goodput, cost, Little's law.
//!
//! This crate is pure and deterministic: it reads no clock and no file, and a recorded file that is
//! replayed gives the same verdicts again.

pub mod alert;
pub mod api;
pub mod buffering;
pub mod cost;
#[cfg(test)]
mod fixture;
pub mod landmarks;
pub mod observatory;
pub mod progress;
pub mod queue;
pub mod saved;
pub mod scope;
pub mod slo;
pub mod snapshot;
pub mod time;
pub mod window;
