//! Sliding windows of what was observed: 1 minute, 5 minutes and 1 hour, over all, each model and each
//! upstream.
//!
//! Time is cut into slots of five seconds. What is recorded goes into the open slot alone; when a slot
//! is over it is packed, added to a running sum for each window, and taken off again when it leaves. A
//! window is the open slot and as many closed ones as its name allows, so it never looks further back
//! than its name says, and up to one slot less far (of a minute for the hour). [`Figures::span_s`] tells
//! how far, and rates divide by that.

mod budget;
mod counts;
mod crowd;
mod ended;
mod figures;
pub mod goodput;
mod grid;
mod histogram;
mod measure;
mod registry;
mod series;
mod sparkline;
mod sparse;
mod track;
mod windows;

#[cfg(test)]
mod tests;

pub use budget::Memory;
pub use figures::{Distribution, Figures, Goodput, Latencies, Lengths, Requests, Throughput, Tokens};
pub use measure::Measure;
pub use sparkline::Sparklines;
pub use windows::{Windows, WindowsConfig};
