//! SLOs over Weir's metrics, in PromQL. `docs/metrics.md` says what the metrics count, `docs/alerts.md` what
//! an SLO over them leaves out.

use std::time::Duration;

use weir_analysis::alert::prometheus::PromSlo;
use weir_analysis::slo::sides::{Side, Sides, sides};
use weir_analysis::slo::{ErrorClass, Objective, OwnRefusals, SloConfig};
use weir_core::outcome::{ErrorType, Outcome};

/// Where the buckets of latencies end, in seconds, as on the metrics page.
const LATENCY: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0,
    5.0, 7.5, 10.0, 15.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0,
];

/// The same of times per token.
const PER_TOKEN: &[f64] = &[
    0.0005, 0.001, 0.002, 0.003, 0.004, 0.005, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.06, 0.08,
    0.1, 0.16, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2,
];

/// What is no request to a model is no event.
const KNOWN: &str = "dialect!=\"other\"";

/// How many bad events there are and how many in all, per second.
struct Events {
    bad: String,
    total: String,
}

/// An SLO in PromQL, or why it cannot be said there.
pub(super) fn prom_slo(slo: &SloConfig, own: OwnRefusals) -> Result<PromSlo, String> {
    let source = Source { model: slo.model.as_deref(), own };
    let Events { bad, total } = match slo.objective {
        Objective::Ttft(limit) => source.latency("weir_ttft_seconds", KNOWN, LATENCY, limit)?,
        // Gaps are not told apart by dialect.
        Objective::Itl(limit) => source.latency("weir_itl_seconds", "", PER_TOKEN, limit)?,
        Objective::Tpot(limit) => source.latency("weir_tpot_seconds", KNOWN, PER_TOKEN, limit)?,
        Objective::E2e(limit) => {
            let answered = source.latency("weir_e2e_seconds", KNOWN, LATENCY, limit)?;
            answered.with(&source.errors(|error| source.is_bad(error, |sides| sides.availability)))
        }
        Objective::QueueWait(limit) => {
            let admitted = source.latency("weir_queue_wait_seconds", KNOWN, LATENCY, limit)?;
            match own {
                OwnRefusals::Bad => admitted.with(&source.errors(of_the_queue)),
                OwnRefusals::Out => admitted,
            }
        }
        Objective::ErrorRate => source.ended(|sides| sides.error_rate),
        Objective::Availability => source.ended(|sides| sides.availability),
    };
    // Percent by a hundred may be off by a rounding, which is nobody's target.
    let target = (slo.target * 1e9).round() / 1e9;
    // Without events there is no ratio: a division by zero would stay in every sum over time.
    let total = format!("({total}) > 0");
    Ok(PromSlo { name: slo.name.clone(), target, bad: bad.into(), total: total.into() })
}

impl Events {
    /// With further bad ones. Of any of these there may be no series yet.
    fn with(self, more: &str) -> Self {
        let Self { bad, total } = self;
        Self {
            bad: format!("({bad} or vector(0)) + {more}"),
            total: format!("({total} or vector(0)) + {more}"),
        }
    }
}

/// Which exchanges are counted, and how.
struct Source<'a> {
    model: Option<&'a str>,
    own: OwnRefusals,
}

impl Source<'_> {
    /// The rate of a counter, summed.
    fn rate(&self, counter: &str, matchers: &[&str]) -> String {
        let model = self.model.map(|model| {
            let model = model.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            format!("model=\"{model}\"")
        });
        let all: Vec<&str> =
            matchers.iter().copied().chain(model.as_deref()).filter(|matcher| !matcher.is_empty()).collect();
        format!("sum(rate({counter}{{{}}}[{{{{.window}}}}]))", all.join(","))
    }

    /// The values of a histogram; bad are those above a limit that one of its buckets ends at.
    fn latency(
        &self,
        histogram: &str,
        known: &str,
        bounds: &[f64],
        limit: Duration,
    ) -> Result<Events, String> {
        let seconds = limit.as_secs_f64();
        let Some(bound) = bounds.iter().find(|bound| Duration::from_secs_f64(**bound) == limit) else {
            let below = bounds.iter().rev().find(|bound| **bound < seconds);
            let above = bounds.iter().find(|bound| **bound > seconds);
            let near: Vec<_> =
                [below, above].into_iter().flatten().map(|bound| format!("{bound} s")).collect();
            let near = near.join(" and ");
            return Err(format!("no bucket of {histogram} ends at {seconds} s; the nearest end at {near}"));
        };
        // Scraped as text it has no fraction where it is whole.
        let le = format!("le=~\"{bound}{}\"", if bound.fract() == 0.0 { "([.]0)?" } else { "" });
        let total = self.rate(&format!("{histogram}_count"), &[known]);
        let within = self.rate(&format!("{histogram}_bucket"), &[known, &le]);
        Ok(Events { bad: format!("{total} - {within}"), total })
    }

    /// Exchanges by how they ended. Those that clients left are of no side.
    fn ended(&self, of: fn(Sides) -> Side) -> Events {
        let bad = self.errors(|error| self.is_bad(error, of));
        let out = self.errors(|error| self.is_out(error, of));
        let all = self.rate("weir_requests_total", &[KNOWN, "outcome!~\"upgraded|client_gone_.*\""]);
        Events { bad, total: format!("{all} - {out}") }
    }

    /// Exchanges with some types of errors; zero where there were none.
    fn errors(&self, which: impl Fn(ErrorType) -> bool) -> String {
        let types = ErrorType::ALL.iter().filter(|error| which(**error)).map(|error| error.as_str());
        let types = format!("error_type=~\"{}\"", types.collect::<Vec<_>>().join("|"));
        format!("({} or vector(0))", self.rate("weir_errors_total", &[KNOWN, &types]))
    }

    fn is_bad(&self, error: ErrorType, of: fn(Sides) -> Side) -> bool {
        match of(failed(error)) {
            // What is remarked on whole answers is of no class.
            Side::Bad => ErrorClass::of(error).is_some(),
            Side::Own => self.own == OwnRefusals::Bad,
            Side::Good | Side::Out => false,
        }
    }

    fn is_out(&self, error: ErrorType, of: fn(Sides) -> Side) -> bool {
        match of(failed(error)) {
            // Those of clients that left are taken out by their outcome.
            Side::Out => ErrorClass::of(error).is_some(),
            Side::Own => self.own == OwnRefusals::Out,
            Side::Good | Side::Bad => false,
        }
    }
}

/// Where an exchange falls that failed in this way.
const fn failed(error: ErrorType) -> Sides {
    sides(Outcome::UpstreamError, Some(error))
}

/// Whether a request was turned away while it queued.
const fn of_the_queue(error: ErrorType) -> bool {
    matches!(error, ErrorType::ProxyQueueFull | ErrorType::ProxyQueueTimeout)
}

#[cfg(test)]
mod tests;
