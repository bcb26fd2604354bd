//! `weir`: a transparent streaming reverse proxy that measures and regulates LLM token streams.

fn main() {}
