//! What each vendor's streams have that others have not, as its servers write it.

mod azure;
mod batches;
mod errors;
mod llamacpp;
mod openai;
mod providers;
mod sglang;
mod tgi;
mod vllm;

use super::*;

/// An event with this data.
fn data(json: &str) -> String {
    format!("data: {json}\n\n")
}

/// What came as output, each with its number of tokens (0 if that is not known).
fn counts(seen: &[Seen]) -> Vec<u32> {
    let of = |one: &Seen| match one {
        Seen::Output { tokens, .. } => Some(tokens.map_or(0, NonZeroU32::get)),
        _ => None,
    };
    seen.iter().filter_map(of).collect()
}
