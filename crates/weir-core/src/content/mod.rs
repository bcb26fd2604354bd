//! What was asked and what was answered, word for word. It is kept only where that is asked for, and
//! within a bound on each side.

mod capture;
mod events;
mod input;
mod room;
mod said;
mod tree;

#[cfg(test)]
mod tests;

pub use input::Input;
pub use said::{Output, Part, Said};

pub(crate) use capture::Capture;

/// How many bytes of content are kept of each side of an exchange. Each part of it counts as a few more
/// than it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureLimit(pub usize);

/// The content of an exchange. It shows itself to nobody who does not ask for a field, so that it cannot
/// get into a log by accident.
#[derive(Clone, Default, PartialEq)]
pub struct Content {
    /// What was asked; absent where the body could not be read, or holds nothing but audio.
    pub input: Option<Input>,
    /// What was answered, as far as it came.
    pub output: Output,
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Content").finish_non_exhaustive()
    }
}
