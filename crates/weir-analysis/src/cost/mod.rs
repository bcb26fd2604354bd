//! What exchanges cost.
