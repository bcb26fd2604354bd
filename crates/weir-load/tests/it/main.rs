//! The simulated engine and the load client over real sockets.

// The lints' exemption for tests covers test functions, not the helpers they share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod batch;
mod bench;
mod bench_client;
mod bench_data;
mod bench_data_compare;
mod bench_data_expect;
mod bench_data_sweep;
mod dialects;
mod endpoints;
mod faults;
mod load;
mod packing;
mod stream;
mod truth;
mod wire;
