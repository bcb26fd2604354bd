//! The vocabulary of Weir: SSE scanner, API dialects, exchanges, marks, policy; pure, without clock or I/O.
