//! Server-sent events, observed as they pass: nothing here changes, delays or keeps the bytes.

mod scanner;
#[cfg(test)]
mod tests;

pub use scanner::{DEFAULT_LIMIT, Event, Scanner};
