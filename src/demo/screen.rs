//! What a demo shows: a live table, and a summary at the end.

use std::io::{self, IsTerminal, Stdout, Write};
use std::net::SocketAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use weir_core::inflight::Phase;
use weir_core::lanes::GLOBAL;
use weir_core::timeline::Stamp;
use weir_load::engine::Preset;

use super::figures::{Figures, Values};
use crate::serve::Weir;

/// Without a terminal to draw on, a line is written this often.
const LINE_EVERY: u64 = 5;

/// The lines of the live table, which the next one is drawn over.
const TABLE_LINES: usize = 6;

pub(super) struct Screen {
    out: Stdout,
    drawn: bool,
    duration: Duration,
    begun: Stamp,
}

impl Screen {
    pub(super) fn new(out: Stdout, duration: Duration) -> Self {
        Self { out, drawn: false, duration, begun: weir_proxy::monotonic() }
    }

    pub(super) fn begin(
        &mut self,
        base: &str,
        engine: SocketAddr,
        model: Preset,
        admin: SocketAddr,
    ) -> io::Result<()> {
        self.begun = weir_proxy::monotonic();
        writeln!(self.out, "\nweir demo: load → weir → simulated engine, for {} s", self.duration.as_secs())?;
        writeln!(self.out, "  weir     {base}/v1     (try it: curl {base}/v1/models)")?;
        writeln!(self.out, "  engine   http://{engine}     ({model})")?;
        writeln!(self.out, "  metrics  http://{admin}/metrics\n")?;
        self.out.flush()
    }

    /// Shows where things stand, once a second.
    pub(super) fn live(&mut self, figures: &Figures, weir: &Weir) -> io::Result<()> {
        let seconds = weir_proxy::monotonic().since(self.begun).as_secs_f64();
        let phases: Vec<Phase> = weir.inflight.list().iter().map(|live| live.read().phase).collect();
        let count = |phase| phases.iter().filter(|known| **known == phase).count();
        let queued = weir.lanes.gauge(GLOBAL).queued.load(Relaxed);
        if !self.out.is_terminal() {
            if (seconds.round() as u64).is_multiple_of(LINE_EVERY) {
                writeln!(
                    self.out,
                    "{:>4.0} s  {:>4} done  {:>2} waiting  {:>2} in prefill  {:>2} in decode  TTFT p50 {}",
                    seconds,
                    figures.exchanges(),
                    queued,
                    count(Phase::Waiting) + count(Phase::Prefill),
                    count(Phase::Decode),
                    time(figures.ttft.quantiles([0.5]).map(|[p50]| p50)).trim_start(),
                )?;
            }
            return self.out.flush();
        }
        if std::mem::replace(&mut self.drawn, true) {
            write!(self.out, "\x1b[{TABLE_LINES}A\x1b[J")?;
        }
        let left = self.duration.as_secs_f64() - seconds;
        let note = if left > 0.0 { format!("{left:.0} s left") } else { "waiting for the last ones".into() };
        writeln!(self.out, "  {seconds:>3.0} s   {} exchanges   {note}", figures.exchanges())?;
        writeln!(
            self.out,
            "  waiting {:<3} prefill {:<3} decode {:<3}",
            queued,
            count(Phase::Waiting) + count(Phase::Prefill),
            count(Phase::Decode)
        )?;
        self.heading()?;
        self.row("TTFT", &figures.ttft)?;
        self.row("ITL", &figures.itl)?;
        self.row("queue wait", &figures.queue_wait)?;
        self.out.flush()
    }

    /// Shows what it all came to.
    pub(super) fn summary(&mut self, figures: &Figures, access_log: Option<&str>) -> io::Result<()> {
        let seconds = weir_proxy::monotonic().since(self.begun).as_secs_f64();
        writeln!(self.out, "\n{} exchanges in {seconds:.1} s\n", figures.exchanges())?;
        self.heading()?;
        for (name, values) in [
            ("TTFT", &figures.ttft),
            ("ITL", &figures.itl),
            ("TPOT", &figures.tpot),
            ("E2E", &figures.e2e),
            ("queue wait", &figures.queue_wait),
        ] {
            self.row(name, values)?;
        }
        writeln!(
            self.out,
            "\n  output tokens/s, all streams   {:>8.1}",
            figures.output_tokens as f64 / seconds
        )?;
        if let Some([p50]) = figures.tps.quantiles([0.5]) {
            writeln!(self.out, "  tokens/s of a stream, median   {p50:>8.1}")?;
        }
        writeln!(self.out, "\n  outcome")?;
        for (outcome, count) in &figures.outcomes {
            writeln!(self.out, "    {:<32} {count:>5}", outcome.as_str())?;
        }
        writeln!(self.out, "\n  dialect")?;
        for (dialect, count) in &figures.dialects {
            writeln!(self.out, "    {dialect:<32} {count:>5}")?;
        }
        writeln!(
            self.out,
            "\n  The simulator breaks off some streams and refuses some requests, and some clients of the"
        )?;
        writeln!(
            self.out,
            "  load leave early: all of that is in the outcomes, each with the tokens and TTFT it had."
        )?;
        writeln!(self.out, "\nWhere to look next")?;
        if let Some(path) = access_log {
            writeln!(self.out, "  {path}    one line per exchange (docs/access-log.md)")?;
        }
        writeln!(
            self.out,
            "  weir serve --upstream http://127.0.0.1:8000    in front of your own model server"
        )?;
        writeln!(
            self.out,
            "  docs/measurement.md    what each figure means, and how it was checked against the wire"
        )?;
        writeln!(self.out, "  docs/metrics.md        what Prometheus finds on the admin port")?;
        self.out.flush()
    }

    fn heading(&mut self) -> io::Result<()> {
        writeln!(self.out, "  {:<12}{:>10}{:>10}{:>10}{:>10}", "", "mean", "p50", "p95", "p99")
    }

    fn row(&mut self, name: &str, values: &Values) -> io::Result<()> {
        let quantiles = values.quantiles([0.5, 0.95, 0.99]);
        let [p50, p95, p99] = [0, 1, 2].map(|index| time(quantiles.map(|all| all[index])));
        writeln!(self.out, "  {name:<12}{}{p50}{p95}{p99}", time(values.mean()))
    }
}

/// A time in milliseconds or seconds, ten columns wide; a dash where there is none.
fn time(seconds: Option<f64>) -> String {
    match seconds {
        None => format!("{:>10}", "–"),
        Some(seconds) if seconds < 1.0 => format!("{:>7.1} ms", seconds * 1e3),
        Some(seconds) => format!("{seconds:>8.2} s"),
    }
}
