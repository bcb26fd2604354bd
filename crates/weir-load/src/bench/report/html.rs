//! The report as one HTML file that needs nothing else: no script, no font, no picture from elsewhere.

use std::fmt::{self, Write};

use super::table::{self, Metric};
use super::timeline::Timeline;
use super::{About, Figures, plot};
use crate::bench::run::Outcome;
use crate::bench::sweep::{Probe, Sweep};

/// Slices of the timeline.
const SLICES: usize = 120;

const STYLE: &str = "
:root{--paper:#fbfbfa;--ink:#24262a;--soft:#6b7078;--grid:#d9dbde;--a:#3f6fa8;--b:#b0702f}
@media(prefers-color-scheme:dark){:root{--paper:#191b1e;--ink:#dfe1e4;--soft:#9096a0;--grid:#34383d;--a:#7fa9dc;--b:#d9a066}}
body{background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif;max-width:760px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.4rem}h2{font-size:1.05rem;margin-top:2rem}p{color:var(--soft)}
pre{font:13px/1.4 ui-monospace,monospace;overflow-x:auto}
svg{width:100%;height:auto}svg text{font:11px system-ui,sans-serif;fill:var(--soft)}
.grid{stroke:var(--grid)}rect.a,circle.a{fill:var(--a)}circle.b{fill:var(--b)}.line{fill:none;stroke-width:1.5}
.line.a{stroke:var(--a)}.line.b{stroke:var(--b)}text.a{fill:var(--a)}text.b{fill:var(--b)}";

/// Writes the report.
pub fn write(to: &mut impl Write, about: &About, outcome: &Outcome, figures: &Figures) -> fmt::Result {
    let title = format!("{} at {}", about.model, about.label.as_deref().unwrap_or(&about.backend));
    head(to, &title)?;
    writeln!(
        to,
        "<p>{} requests in {:.1} s, {} complete, {} failed. Figures follow the definitions of {}.</p>",
        figures.counts.sent,
        figures.duration_s,
        figures.counts.completed,
        figures.counts.failed,
        figures.semantics
    )?;
    distributions(to, outcome, figures)?;
    timeline(to, outcome)?;
    let mut text = String::new();
    table::write(&mut text, about, figures, &Metric::ALL)?;
    writeln!(to, "<h2>All figures</h2>\n<pre>{}</pre>\n</html>", escape(&text))
}

/// Writes what a sweep has found, with its `table` below the curve.
pub fn write_sweep(to: &mut impl Write, title: &str, sweep: &Sweep, table: &str) -> fmt::Result {
    head(to, title)?;
    let points = |latency_s: fn(&Probe) -> Option<f64>| -> Vec<plot::Point> {
        let probes = sweep.curve.iter().map(|point| &point.probe);
        let point = |probe: &Probe| {
            Some(plot::Point { x: probe.throughput, y: latency_s(probe)? * 1e3, b: !probe.meets_slo })
        };
        probes.filter_map(point).collect()
    };
    let label = "requests/s; the other colour: limits missed";
    let latency = plot::points(&points(|probe| probe.latency_s), label);
    writeln!(to, "<h2>Mean latency from due time (ms) against throughput</h2>\n{latency}")?;
    let ttft = plot::points(&points(|probe| Some(probe.figures.get("p99_ttft_ms")? / 1e3)), label);
    writeln!(to, "<h2>P99 TTFT (ms) against throughput</h2>\n{ttft}")?;
    writeln!(to, "<h2>All runs</h2>\n<pre>{}</pre>\n</html>", escape(table))
}

fn head(to: &mut impl Write, title: &str) -> fmt::Result {
    let title = escape(title);
    write!(
        to,
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>weir bench: {title}</title>\
         <style>{STYLE}</style>\n<h1>{title}</h1>\n"
    )
}

fn distributions(to: &mut impl Write, outcome: &Outcome, figures: &Figures) -> fmt::Result {
    let semantics = figures.semantics;
    let views = outcome.samples.iter().map(|sample| semantics.view(sample)).filter(|view| view.is_success);
    let (mut ttfts, mut itls) = (Vec::new(), Vec::new());
    for view in views {
        ttfts.extend(view.ttft_s.map(|seconds| seconds * 1e3));
        itls.extend(view.itls_s.iter().map(|seconds| seconds * 1e3));
    }
    for (name, values) in [("Time to first token", ttfts), ("Inter-token latency", itls)] {
        if let Some(svg) = plot::distribution(values, "ms") {
            writeln!(to, "<h2>{name}</h2>\n{svg}")?;
        }
    }
    Ok(())
}

fn timeline(to: &mut impl Write, outcome: &Outcome) -> fmt::Result {
    let Some(timeline) = Timeline::of(outcome, SLICES) else { return Ok(()) };
    let span_s = timeline.slice_s * SLICES as f64;
    let requests: [(&str, &[f64]); 2] =
        [("sent per s", &timeline.sent_per_s), ("complete per s", &timeline.completed_per_s)];
    writeln!(to, "<h2>Requests</h2>\n{}", plot::lines(span_s, &requests))?;
    let flight: [(&str, &[f64]); 1] = [("in flight", &timeline.in_flight)];
    writeln!(to, "<h2>Requests in flight</h2>\n{}", plot::lines(span_s, &flight))?;
    let events: [(&str, &[f64]); 1] = [("events with output per s", &timeline.events_per_s)];
    writeln!(to, "<h2>Output</h2>\n{}", plot::lines(span_s, &events))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
