//! `weir alerts test`: what alerts would have done about what was recorded.

mod course;
mod replay;
mod tally;
mod untold;

use std::io::{self, BufWriter, Write};

use weir_analysis::alert::status::Reading;
use weir_analysis::alert::{AlertState, Cause, Transition};
use weir_telemetry::{RecordError, Records, read_records};

use crate::cli::TestArgs;
use crate::rules;
use crate::status::figure::{foreign, in_unit, moment, or_absent};
use replay::Replay;
use tally::{Tally, skipped};

/// As many lines that cannot be read are told one by one.
const BROKEN_TOLD: u64 = 5;

/// As much of a name is shown, and of a signal.
const NAME: usize = 40;
const SIGNAL: usize = 48;

/// Replays the record, and prints each change and a summary.
pub(crate) fn test(args: &TestArgs) -> Result<(), String> {
    let mut config = rules::asked(args.config.as_deref())?;
    let slos: Vec<&str> = config.slos.iter().map(|slo| &*slo.name).collect();
    let written = rules::read(&args.rules, Some(&slos))?;
    written.warnings.iter().for_each(|warning| remark(warning));
    config.rules = written.rules;
    let name = args.records.display().to_string().replace(char::is_control, "?");
    let told = |error: &dyn std::fmt::Display| format!("{name}: {error}");
    let mut records = read_records(&args.records).map_err(|error| told(&error))?;

    let mut replay = Replay::new(config.clone());
    let longest = config.rules.rules().iter().map(|rule| rule.name.chars().count().min(NAME)).max();
    let mut print = Printer {
        out: BufWriter::new(io::stdout().lock()),
        json: args.json,
        width: longest.unwrap_or(0),
        tally: Tally::default(),
    };
    let mut printed = Ok(());
    let mut broken = 0;
    while let Some(observation) = next(&mut records, &name, &mut broken)? {
        printed = print.all(&replay.observe(observation).map_err(|error| told(&error))?);
        if printed.is_err() {
            break;
        }
    }
    if printed.is_ok() {
        printed = print.all(&replay.end().map_err(|error| told(&error))?);
        remarks(&replay, &records, &name, broken);
    }
    let summary = print.tally.show(&replay, config.rules.rules(), &skipped(&replay, &config));
    match printed.and_then(|()| print.end(&summary)) {
        // Whoever reads has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(|error| format!("cannot write to standard output: {error}")),
    }
}

/// The next observation that can be read.
fn next(
    records: &mut Records,
    name: &str,
    broken: &mut u64,
) -> Result<Option<weir_core::observation::Observation>, String> {
    loop {
        match records.next().transpose() {
            Ok(observation) => return Ok(observation),
            Err(error @ RecordError::Broken { .. }) => {
                *broken += 1;
                if *broken <= BROKEN_TOLD {
                    remark(&format!("{name}: {error}"));
                }
            }
            Err(error) => return Err(format!("{name}: {error}")),
        }
    }
}

/// What should be known of the record.
fn remarks(replay: &Replay, records: &Records, name: &str, broken: u64) {
    if broken > BROKEN_TOLD {
        remark(&format!("{name}: {broken} lines are no observations, and are left out"));
    }
    if let Some(line) = records.cut_line() {
        remark(&format!("{name}: line {line} was cut, and is left out"));
    }
    let judged = replay.judged();
    if judged.own > 0 && judged.own == judged.times {
        remark(&format!(
            "{name}: there are no ticks in it: alerts are judged at each second, and what only ticks tell is not known"
        ));
    }
}

/// Remarks stand apart from what is printed.
fn remark(text: &str) {
    let _ = writeln!(io::stderr(), "weir: {text}");
}

/// Prints changes.
struct Printer<W: Write> {
    out: W,
    json: bool,
    /// That of the longest name.
    width: usize,
    tally: Tally,
}

impl<W: Write> Printer<W> {
    fn all(&mut self, changed: &[Transition]) -> io::Result<()> {
        for transition in changed {
            self.tally.add(transition);
            match self.json {
                true => {
                    serde_json::to_writer(&mut self.out, transition)?;
                    self.out.write_all(b"\n")?;
                }
                false => writeln!(self.out, "{}", line(transition, self.width))?,
            }
        }
        Ok(())
    }

    fn end(&mut self, summary: &str) -> io::Result<()> {
        if !self.json {
            let none = "No alert changed.\n";
            write!(self.out, "{}\n{summary}", if self.tally.is_empty() { none } else { "" })?;
        }
        self.out.flush()
    }
}

/// `2017-07-14T02:40:00Z  slow  pending → firing    held     p95_ttft 2.31 s > 2.00 s`.
fn line(transition: &Transition, width: usize) -> String {
    let Transition { alert, from, to, cause, at, reading, .. } = transition;
    let change = format!("{} → {}", state(*from), state(*to));
    let (at, alert, cause) = (moment(*at), foreign(alert, NAME), why(*cause));
    format!("{at}  {alert:width$}  {change:18}  {cause:7}  {}", or_absent(reading.as_ref(), self::reading))
}

fn reading(reading: &Reading) -> String {
    let Reading { signal, unit, value, comparator, threshold, .. } = reading;
    let shown = |value: Option<f64>| or_absent(value, |value| in_unit(value, *unit));
    format!("{} {} {comparator} {}", foreign(signal, SIGNAL), shown(*value), shown(*threshold))
}

const fn state(state: AlertState) -> &'static str {
    match state {
        AlertState::Inactive => "inactive",
        AlertState::Pending => "pending",
        AlertState::Firing => "firing",
    }
}

const fn why(cause: Cause) -> &'static str {
    match cause {
        Cause::Met => "met",
        Cause::Held => "held",
        Cause::Cleared => "cleared",
        Cause::NoData => "no data",
        Cause::RuleGone => "rule gone",
        Cause::SilenceEnded => "silence ended",
    }
}
