//! What passes, passes as it is.

mod bodies;
mod errors;
mod expect;
mod framing;
mod heads;
mod large;
mod paths;
