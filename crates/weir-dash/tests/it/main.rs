//! The admin listener over real sockets.

#![allow(clippy::unwrap_used, clippy::panic)]

mod commands;
mod guard;
mod house;
mod pages;
mod questions;
mod stream;
