//! Faults of streaming proxies and of their observers, as told of in public trackers: for each, the
//! bytes that reach the client and what is recorded of them.

mod endings;
mod events;
mod records;
mod refusals;
mod timing;
mod tokens;
mod usage;
