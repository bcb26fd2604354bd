//! A continuous batch, as vLLM's scheduler runs one.
//!
//! [`model`] is a pure function of the jobs it gets and of time: every step gives each running
//! sequence a token or a few, lets in as many others as there is room for, and takes as long as
//! [`cost`] says. [`driver`] is the one task that owns a model and runs it in real time; [`seat`] is
//! what a request holds of it.

pub(crate) use self::books::{Books, Guesses};
pub use self::config::{BatchConfig, BatchError, Batching, KvCache, Preemption, Speculation, StepCost};
pub(crate) use self::driver::batch;
pub(crate) use self::model::Occupancy;
pub(crate) use self::progress::{Cached, Progress};
pub(crate) use self::seat::{Batch, Seat};

mod blocks;
mod books;
mod config;
mod context;
mod cost;
mod driver;
mod model;
mod prefix;
mod progress;
mod schedule;
mod seat;
mod sequence;
mod speculation;
#[cfg(test)]
mod tests;
