//! How far a run is, on the terminal.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use weir_load::bench::run::Progress;

/// The line that shows it; nothing where nobody looks.
pub(super) struct Line(ProgressBar);

impl Line {
    pub(super) fn new(is_wanted: bool) -> Self {
        let shown = is_wanted && std::io::stderr().is_terminal();
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        let style = ProgressStyle::with_template("{elapsed} {wide_bar} {pos}/{len}  {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self(bar)
    }

    /// The same with what it is a part of before it.
    pub(super) fn part(&self, of: &str, progress: &Progress) {
        let Progress { total, completed, failed, in_flight, requests_per_s, chunks_per_s, .. } = progress;
        if let Some(total) = total {
            self.0.set_length(*total as u64);
        }
        self.0.set_position(completed + failed);
        let failures = if *failed > 0 { format!(", {failed} failed") } else { String::new() };
        self.0.set_message(format!(
            "{of}{requests_per_s:.1} req/s, {chunks_per_s:.0} chunks/s, {in_flight} in flight{failures}"
        ));
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
