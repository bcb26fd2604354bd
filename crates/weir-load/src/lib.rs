//! Traffic at both ends of a proxy: a simulated OpenAI-compatible engine and a load client.
//!
//! The [`engine`] answers as a model server does, at a pace and with faults that are drawn from a
//! seed, and writes down what it did ([`truth`]). The [`client`] sends it, or whatever stands in
//! front of it, a mixed [`workload`] at the times an [`arrival`] process gives.

pub mod arrival;
pub mod bench;
pub mod client;
pub mod clock;
pub mod crypto;
pub mod engine;
pub mod truth;
pub mod workload;

mod draw;
