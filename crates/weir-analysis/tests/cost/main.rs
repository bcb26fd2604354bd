//! Costs, against sums done by hand.

#![allow(clippy::unwrap_used, clippy::panic)]

mod fixture;
mod gpu;
mod ledger;
mod valuation;
