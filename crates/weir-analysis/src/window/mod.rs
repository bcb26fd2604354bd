//! Sliding windows of what was observed.
