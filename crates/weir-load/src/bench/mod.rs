//! The bench: sends load at times that were set beforehand, and measures what comes back as its client.
//!
//! It reads streams by itself and shares nothing with the proxy, so that each checks the other.

pub mod ask;
pub mod backend;
pub mod compare;
pub mod dataset;
pub mod expect;
pub mod report;
pub mod run;
pub mod schedule;
pub mod semantics;
pub mod stats;
pub mod sweep;

#[cfg(test)]
mod samples;
