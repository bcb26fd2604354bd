//! What users ask of the service.

use std::time::Duration;

use crate::window::goodput::LatencyLimits;

/// One SLO: which events are good, and what share of them has to be.
#[derive(Clone, Debug, PartialEq)]
pub struct SloConfig {
    /// What it is called; no two are called alike.
    pub name: Box<str>,
    /// Which events are good.
    pub objective: Objective,
    /// The share of events that has to be good: above 0, below 1.
    pub target: f64,
    /// The model whose exchanges count, by the name that requests use; every exchange where absent.
    pub model: Option<Box<str>>,
    /// Fewer events than this in either window of an alert raise none.
    pub min_events: u64,
}

/// Fewer events than this in a window raise no alert, unless configured otherwise. At 99.9 % one failure
/// burns at 14.4 as long as it is one of 69 or fewer: with a hundred events, a single failure pages nobody.
pub const MIN_EVENTS: u64 = 100;

impl SloConfig {
    /// What is asked where nothing is configured: TTFT ≤ 2 s for 95 %, ITL ≤ 100 ms for 95 %, error rate
    /// ≤ 2 %, availability ≥ 99.9 %.
    pub fn defaults() -> Vec<Self> {
        let slo = |name: &str, objective, target| Self {
            name: name.into(),
            objective,
            target,
            model: None,
            min_events: MIN_EVENTS,
        };
        vec![
            slo("ttft", Objective::Ttft(Duration::from_secs(2)), 0.95),
            slo("itl", Objective::Itl(Duration::from_millis(100)), 0.95),
            slo("error_rate", Objective::ErrorRate, 0.98),
            slo("availability", Objective::Availability, 0.999),
        ]
    }

    /// Whether what is of this model counts.
    pub(super) fn covers(&self, model: Option<&str>) -> bool {
        self.model.is_none() || self.model.as_deref() == model
    }
}

/// Which events are good. A latency equal to its limit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Objective {
    /// Time to first token within this, per stream.
    Ttft(Duration),
    /// A gap between tokens below this, per gap.
    Itl(Duration),
    /// Time per output token within this, per exchange.
    Tpot(Duration),
    /// End to end within this, per exchange.
    E2e(Duration),
    /// The wait for admission within this, per exchange.
    QueueWait(Duration),
    /// No error was answered that the client did not cause, per exchange.
    ErrorRate,
    /// No fault on the server's side, per exchange.
    Availability,
}

impl Objective {
    /// The name as it stands in configurations and answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ttft(_) => "ttft",
            Self::Itl(_) => "itl",
            Self::Tpot(_) => "tpot",
            Self::E2e(_) => "e2e",
            Self::QueueWait(_) => "queue_wait",
            Self::ErrorRate => "error_rate",
            Self::Availability => "availability",
        }
    }

    /// The limit of a latency.
    pub const fn limit(self) -> Option<Duration> {
        match self {
            Self::Ttft(limit)
            | Self::Itl(limit)
            | Self::Tpot(limit)
            | Self::E2e(limit)
            | Self::QueueWait(limit) => Some(limit),
            Self::ErrorRate | Self::Availability => None,
        }
    }

    /// The same with this limit; as it is where it is no latency.
    #[must_use]
    pub const fn within(self, limit: Duration) -> Self {
        match self {
            Self::Ttft(_) => Self::Ttft(limit),
            Self::Itl(_) => Self::Itl(limit),
            Self::Tpot(_) => Self::Tpot(limit),
            Self::E2e(_) => Self::E2e(limit),
            Self::QueueWait(_) => Self::QueueWait(limit),
            Self::ErrorRate | Self::Availability => self,
        }
    }

    /// What is asked, for people: `ttft ≤ 2 s for 95 %`.
    pub fn text(self, target: f64) -> String {
        match (self, self.limit()) {
            (_, Some(limit)) => format!("{} ≤ {} for {} %", self.as_str(), time(limit), percent(target)),
            (Self::Availability, None) => format!("availability ≥ {} %", percent(target)),
            (_, None) => format!("error rate ≤ {} %", percent(1.0 - target)),
        }
    }
}

fn time(limit: Duration) -> String {
    let seconds = limit.as_secs_f64();
    if seconds >= 1.0 { format!("{seconds} s") } else { format!("{} ms", round(seconds * 1_000.0)) }
}

fn percent(share: f64) -> f64 {
    round(share * 100.0)
}

/// To six decimals: what binary fractions add to 99.9 is nobody's target.
fn round(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// Takes an objective's limit in where it is the strictest of its kind.
pub(super) fn tighten(limits: &mut LatencyLimits, objective: Objective) {
    let (place, limit) = match objective {
        Objective::Ttft(limit) => (&mut limits.ttft, limit),
        Objective::Itl(limit) => (&mut limits.itl, limit),
        Objective::Tpot(limit) => (&mut limits.tpot, limit),
        Objective::E2e(limit) => (&mut limits.e2e, limit),
        Objective::QueueWait(limit) => (&mut limits.queue_wait, limit),
        Objective::ErrorRate | Objective::Availability => return,
    };
    *place = Some(place.map_or(limit, |present| present.min(limit)));
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Objective, SloConfig};

    #[test]
    fn what_is_asked_reads_as_people_say_it() {
        let texts: Vec<_> = SloConfig::defaults().iter().map(|slo| slo.objective.text(slo.target)).collect();
        assert_eq!(
            texts,
            ["ttft ≤ 2 s for 95 %", "itl ≤ 100 ms for 95 %", "error rate ≤ 2 %", "availability ≥ 99.9 %"]
        );
        let queue = Objective::QueueWait(Duration::from_millis(1_500));
        assert_eq!(queue.text(0.999), "queue_wait ≤ 1.5 s for 99.9 %");
    }
}
