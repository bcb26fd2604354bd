//! What a condition may watch: a closed set, each with its unit and where it is kept.

use std::fmt;

use super::lexer::{in_quotes, is_bare};
use super::unit::Unit;
use crate::scope::{Scope, Window};

pub use super::figure::{Figure, Reach};
pub use crate::slo::BurnWindow;
pub use crate::window::Measure;

/// A statistic of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stat {
    /// The median.
    P50,
    /// The 90th percentile.
    P90,
    /// The 95th percentile.
    P95,
    /// The 99th percentile.
    P99,
    /// The mean.
    Mean,
    /// The greatest value.
    Max,
}

impl Stat {
    /// Every statistic.
    pub const ALL: [Self; 6] = [Self::P50, Self::P90, Self::P95, Self::P99, Self::Mean, Self::Max];

    /// The name as it stands before the measure's.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::Mean => "mean",
            Self::Max => "max",
        }
    }
}

impl Measure {
    /// What its values are counted in.
    pub const fn unit(self) -> Unit {
        match self {
            Self::Tps => Unit::TokensPerSecond,
            Self::InputTokens | Self::OutputTokens => Unit::Tokens,
            _ => Unit::Seconds,
        }
    }

    /// What it is, in one sentence.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Ttft => "Time to first token as the client sees it, queue wait included; streams.",
            Self::UpstreamTtft => "Time to first token since the request was handed to the upstream.",
            Self::Itl => "Inter-token latency: the gap before each token after the first.",
            Self::InterChunk => "The gap from one chunk of output to the next, as it came.",
            Self::Tpot => "Time per output token after the first, one value an exchange.",
            Self::Tps => "Tokens per second of one stream after its first token.",
            Self::E2e => "Received to last token of completed exchanges.",
            Self::QueueWait => "Wait for admission of the requests that were admitted.",
            Self::InputTokens => "Prompt tokens of one exchange, as the engine reported them.",
            Self::OutputTokens => "Output tokens of one exchange, by the best count known.",
        }
    }
}

/// What a comparison reads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Signal {
    /// A statistic over a window, such as `p95_ttft[5m]`.
    Statistic {
        /// Which statistic.
        stat: Stat,
        /// Of what.
        measure: Measure,
        /// Over which window.
        window: Window,
    },
    /// A figure over a window, such as `error_rate[5m]`.
    Windowed {
        /// Which figure; one that [has windows](Figure::windows).
        figure: Figure,
        /// Over which window.
        window: Window,
    },
    /// A figure of this moment, such as `queue_depth`.
    Now(Figure),
    /// How many times as fast as allowed the error budget of an SLO burns: `burn_rate(slo, 1h)`.
    BurnRate {
        /// The SLO's name.
        slo: Box<str>,
        /// Over which window.
        window: BurnWindow,
    },
    /// What is left of the error budget of an SLO, from 1 down; below 0 it is overdrawn.
    BudgetRemaining {
        /// The SLO's name.
        slo: Box<str>,
    },
}

/// Where signals are read: the live figures, or those of a replay.
pub trait Signals {
    /// The value of a signal now, in its [unit](Signal::unit): seconds, ratios from 0 to 1, USD, counts.
    /// `None`: there is no figure, which is not zero.
    fn read(&self, signal: &Signal, scope: &Scope) -> Option<f64>;
}

/// The windows of statistics, the one that is meant if none is said first.
pub(super) const WINDOWS: &[Window] = &Window::ALL;

/// The two functions of SLOs.
pub(super) const FUNCTIONS: [&str; 2] = ["burn_rate", "budget_remaining"];

impl Signal {
    /// What its values are counted in.
    pub const fn unit(&self) -> Unit {
        match self {
            Self::Statistic { measure, .. } => measure.unit(),
            Self::Windowed { figure, .. } | Self::Now(figure) => figure.unit(),
            Self::BurnRate { .. } => Unit::Times,
            Self::BudgetRemaining { .. } => Unit::Ratio,
        }
    }

    /// For what it is told apart.
    pub const fn reach(&self) -> Reach {
        match self {
            Self::Statistic { .. } => Reach::ModelOrUpstream,
            Self::Windowed { figure, .. } | Self::Now(figure) => figure.reach(),
            Self::BurnRate { .. } | Self::BudgetRemaining { .. } => Reach::Slo,
        }
    }

    /// The SLO it is about, if any.
    pub fn slo(&self) -> Option<&str> {
        match self {
            Self::BurnRate { slo, .. } | Self::BudgetRemaining { slo } => Some(slo),
            _ => None,
        }
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let window = |f: &mut fmt::Formatter<'_>, window: Window, usual: &[Window]| {
            if usual.first() == Some(&window) { Ok(()) } else { write!(f, "[{}]", window.as_str()) }
        };
        match self {
            Self::Statistic { stat, measure, window: over } => {
                write!(f, "{}_{}", stat.as_str(), measure.as_str())?;
                window(f, *over, WINDOWS)
            }
            Self::Windowed { figure, window: over } => {
                f.write_str(figure.as_str())?;
                window(f, *over, figure.windows())
            }
            Self::Now(figure) => f.write_str(figure.as_str()),
            Self::BurnRate { slo, window } => write!(f, "burn_rate({}, {})", Slo(slo), window.as_str()),
            Self::BudgetRemaining { slo } => write!(f, "budget_remaining({})", Slo(slo)),
        }
    }
}

/// The name of an SLO, in quotes if it needs them.
struct Slo<'a>(&'a str);

impl fmt::Display for Slo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_bare(self.0) { f.write_str(self.0) } else { f.write_str(&in_quotes(self.0)) }
    }
}

/// One row of the catalogue of signals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// How it is written; `pNN_` stands for one of the statistics.
    pub name: String,
    /// What it is counted in.
    pub unit: Unit,
    /// The windows it is kept for; none: it is a figure of the moment, or the function says it.
    pub windows: Vec<&'static str>,
    /// For what it is told apart.
    pub reach: Reach,
    /// What it is, in one sentence.
    pub description: &'static str,
}

/// Every signal there is, in the order of the manual.
pub fn catalogue() -> Vec<Entry> {
    let windows = |windows: &[Window]| windows.iter().map(|window| window.as_str()).collect();
    let statistics = Measure::ALL.into_iter().map(|measure| Entry {
        name: format!("pNN_{}", measure.as_str()),
        unit: measure.unit(),
        windows: windows(WINDOWS),
        reach: Reach::ModelOrUpstream,
        description: measure.description(),
    });
    let figures = Figure::ALL.iter().map(|figure| Entry {
        name: figure.as_str().to_owned(),
        unit: figure.unit(),
        windows: windows(figure.windows()),
        reach: figure.reach(),
        description: figure.description(),
    });
    let slo = |name: &str, unit, windows, description| Entry {
        name: name.to_owned(),
        unit,
        windows,
        reach: Reach::Slo,
        description,
    };
    let functions = [
        slo(
            "burn_rate(slo, window)",
            Unit::Times,
            BurnWindow::ALL.iter().map(|window| window.as_str()).collect(),
            "How many times as fast as allowed the error budget of an SLO burns.",
        ),
        slo(
            "budget_remaining(slo)",
            Unit::Ratio,
            Vec::new(),
            "What is left of the error budget of an SLO, from 100 % down; below 0 it is overdrawn.",
        ),
    ];
    statistics.chain(figures).chain(functions).collect()
}
