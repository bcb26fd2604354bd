//! What the operating system allows a process.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the number of open files to what is allowed: each stream takes two. Where that fails the
/// limit stays what it was.
pub(crate) fn raise_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}
