//! The same promises when one side, or both, speak HTTP/2.

mod attacks;
mod carriers;
mod connections;
mod downstream;
mod heads;
mod leaving;
mod upstream;
