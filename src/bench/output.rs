//! Writes what a run has shown: the table, and the files that were asked for.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use weir_load::bench::report::{About, Figures, GoodputLimits, Reading, html, json, jsonl, table};
use weir_load::bench::run::{BenchConfig, Outcome};

use super::args::ReportArgs;
use super::expectations::PERCENTS;

/// A run, read by the definitions that were asked for.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) about: About,
    pub(super) figures: Figures,
}

/// How the command line wants figures to be read.
pub(super) fn reading(args: &ReportArgs) -> Result<Reading, String> {
    if let Some(wrong) = args.metric_percentiles.iter().find(|percent| !(0.0..=100.0).contains(*percent)) {
        return Err(format!("--metric-percentiles: {wrong} is no number from 0 to 100"));
    }
    let mut percents = args.metric_percentiles.clone();
    if args.expect.is_some() {
        percents.extend(PERCENTS.iter().filter(|percent| !args.metric_percentiles.contains(percent)));
    }
    Ok(Reading {
        semantics: args.semantics,
        goodput: GoodputLimits::parse(&args.goodput).map_err(|error| error.to_string())?,
        percents,
    })
}

impl Report {
    pub(super) fn new(
        args: &ReportArgs,
        config: &BenchConfig,
        requests: usize,
        outcome: &Outcome,
        reading: &Reading,
    ) -> Self {
        let since = Duration::from_nanos(weir_proxy::wall().0);
        let about = About {
            label: args.label.clone(),
            date: since.saturating_sub(outcome.duration),
            metadata: args.metadata.clone(),
            ..About::of(config, requests)
        };
        Self { about, figures: Figures::of(outcome, reading) }
    }

    /// The table, as text.
    pub(super) fn table(&self, args: &ReportArgs) -> String {
        let mut text = String::new();
        // A text takes whatever is written to it.
        let _ = table::write(&mut text, &self.about, &self.figures, &args.percentile_metrics);
        text
    }

    /// The files that were asked for. `wire`: what the weir between told, for the result.
    pub(super) fn write_files(
        &self,
        args: &ReportArgs,
        outcome: &Outcome,
        wire: Option<Value>,
    ) -> Result<Vec<PathBuf>, String> {
        let mut written = Vec::new();
        if let Some(path) = self.result_path(args) {
            let mut result = json::value(&self.about, outcome, &self.figures, !args.no_detail);
            if let (Some(wire), Some(own)) = (wire, result["weir"].as_object_mut()) {
                own.insert("wire".to_owned(), wire);
            }
            file(&path, |to| serde_json::to_writer(&mut *to, &result).map_err(Into::into))?;
            written.push(path);
        }
        if let Some(path) = &args.output_jsonl {
            file(path, |to| jsonl::write(to, outcome, self.figures.semantics))?;
            written.push(path.clone());
        }
        if let Some(path) = &args.output_html {
            let mut page = String::new();
            let _ = html::write(&mut page, &self.about, outcome, &self.figures);
            file(path, |to| to.write_all(page.as_bytes()))?;
            written.push(path.clone());
        }
        Ok(written)
    }

    fn result_path(&self, args: &ReportArgs) -> Option<PathBuf> {
        if let Some(path) = &args.output_json {
            return Some(path.clone());
        }
        if !args.save_result && args.result_filename.is_none() {
            return None;
        }
        let name = args.result_filename.clone().unwrap_or_else(|| {
            let model = self.about.model.rsplit('/').next().unwrap_or_default();
            format!("{}-{model}-{}.json", self.about.backend, self.about.date.as_secs()).into()
        });
        Some(args.result_dir.as_deref().unwrap_or(Path::new("")).join(name))
    }
}

/// Writes a file, and names it where that fails.
pub(super) fn file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), String> {
    let written = File::create(path).and_then(|file| {
        let mut to = BufWriter::new(file);
        write(&mut to)?;
        to.flush()
    });
    written.map_err(|error| format!("{}: {error}", path.display()))
}

/// Prints to standard output. Whoever stops reading has seen enough.
pub(super) fn print(text: &str) -> Result<(), String> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(|error| error.to_string()),
    }
}
