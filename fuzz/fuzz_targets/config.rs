//! No text breaks the reader of configurations: each mistake is told with its place, and what is in effect
//! is a configuration that comes to the same.
//!
//! Input: a configuration file.

#![no_main]

use std::fs;
use std::path::PathBuf;

use libfuzzer_sys::fuzz_target;

/// Part of the binary, which is no library. Its callers use all of it; here, one function is enough.
#[allow(dead_code, unused_imports)]
#[path = "../../src/config/mod.rs"]
mod config;

use config::{Effective, Mistakes, Overrides};

fuzz_target!(|text: &str| {
    let file = File::new();
    let effective = match file.load(text) {
        Ok(effective) => effective.to_string(),
        Err(mistakes) => return file.check(&mistakes.to_string(), text),
    };
    let again = file.load(&effective).map_err(|mistakes| mistakes.to_string());
    let again = again.map(|effective| effective.to_string());
    assert_eq!(again.as_deref().map(values), Ok(values(&effective)), "{effective}");
});

/// What is read is a file, on a disk that is none.
struct File(PathBuf);

impl File {
    fn new() -> Self {
        Self(PathBuf::from(format!("/dev/shm/weir-fuzz-{}.toml", std::process::id())))
    }

    fn load(&self, text: &str) -> Result<Effective, Mistakes> {
        fs::write(&self.0, text).expect("a file in memory can be written");
        let loaded = config::load(Some(&self.0), &Overrides::default());
        fs::remove_file(&self.0).expect("a file just written can be removed");
        loaded.map(|loaded| loaded.effective)
    }

    /// A mistake is one line, which begins with a place in the file.
    fn check(&self, mistakes: &str, text: &str) {
        let (name, last) = (self.0.display().to_string(), text.split('\n').count());
        assert!(!mistakes.is_empty());
        for mistake in mistakes.split('\n') {
            let place = mistake.strip_prefix(&name).and_then(|rest| rest.strip_prefix(':'));
            let line = place.and_then(|place| place.split(':').next()?.parse().ok());
            let placed = line.is_some_and(|line| (1..=last).contains(&line));
            // What is missing stands nowhere.
            assert!(placed || mistake.starts_with(&format!("{name}: upstream.url: missing")), "{mistake}");
            assert!(!mistake.contains(char::is_control), "{mistake:?}");
        }
    }
}

/// The keys and values, without where they come from.
fn values(effective: &str) -> Vec<&str> {
    effective
        .lines()
        .map(|line| line.rsplit_once("  # ").map_or(line, |(value, _)| value.trim_end()))
        .collect()
}
