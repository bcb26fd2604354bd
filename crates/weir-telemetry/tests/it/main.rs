//! A pipeline that is fed with exchanges made by hand, and what its recorders make of them.

#![allow(clippy::unwrap_used, clippy::panic)]

mod access_log;
mod alerts;
mod analysed;
mod analysis;
mod collector;
mod content;
mod cost;
mod export;
mod labels;
mod metrics;
mod notify;
mod page;
mod pulses;
mod shutdown;
mod state;
mod sut;
mod ticks;
