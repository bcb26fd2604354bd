//! Shows a number of token events to a draft and ends: to be counted under callgrind. The
//! difference of two runs, divided by the difference of their events, is the cost of an event.
//!
//! `valgrind --tool=callgrind target/release/examples/tap_instructions 20000`

#[path = "../benches/common/mod.rs"]
mod common;

use weir_core::draft::Arrival;
use weir_core::timeline::Stamp;

fn main() {
    let events = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1000);
    let stream: Vec<Vec<u8>> = (0..1000).map(common::token_event).collect();
    let mut draft = common::draft();
    for n in 0..events {
        draft.frame(&stream[n % stream.len()], Stamp(20_000_000 * n as u64), Arrival::Awaited);
    }
}
