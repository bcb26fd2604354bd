//! Signals by name, and what to say about a name that is none.

use super::mistake::{did_you_mean, quoted};
use super::signal::{BurnWindow, FUNCTIONS, Figure, Measure, Signal, Stat, WINDOWS};
use crate::scope::Window;

/// What a name stands for.
pub(super) enum Found {
    Signal(Signal),
    Function(&'static str),
    /// Nothing, and why.
    Unknown(String),
}

/// Looks a name up. The window is the usual one.
pub(super) fn find(name: &str) -> Found {
    if let Some(function) = FUNCTIONS.into_iter().find(|function| *function == name) {
        return Found::Function(function);
    }
    if let Some(&figure) = Figure::ALL.iter().find(|figure| figure.as_str() == name) {
        return Found::Signal(match figure.windows().first() {
            Some(&window) => Signal::Windowed { figure, window },
            None => Signal::Now(figure),
        });
    }
    if let Some((stat, measure)) = name.split_once('_') {
        let stat = Stat::ALL.into_iter().find(|known| known.as_str() == stat);
        let measure = Measure::ALL.into_iter().find(|known| known.as_str() == measure);
        if let (Some(stat), Some(measure)) = (stat, measure) {
            return Found::Signal(Signal::Statistic { stat, measure, window: WINDOWS[0] });
        }
    }
    Found::Unknown(unknown(name))
}

fn unknown(name: &str) -> String {
    let stats = Stat::ALL.map(Stat::as_str).join(", ");
    if Measure::ALL.iter().any(|measure| measure.as_str() == name) {
        return format!("\"{name}\" needs a statistic in front, as in p95_{name} (statistics are {stats})");
    }
    if let Some((stat, measure)) = name.split_once('_')
        && Measure::ALL.iter().any(|known| known.as_str() == measure)
    {
        return format!("{} is not kept (statistics are {stats})", quoted(stat));
    }
    let names = names();
    let hint = did_you_mean(name, names.iter().map(String::as_str));
    format!("{} is no signal{hint} (signals are {})", quoted(name), listed())
}

/// Every name that can be written.
fn names() -> Vec<String> {
    let statistics = Stat::ALL.into_iter().flat_map(|stat| {
        Measure::ALL.into_iter().map(move |measure| format!("{}_{}", stat.as_str(), measure.as_str()))
    });
    let others = Figure::ALL.iter().map(|figure| figure.as_str()).chain(FUNCTIONS).map(str::to_owned);
    statistics.chain(others).collect()
}

/// The signals as one list, short enough to be read.
pub(super) fn listed() -> String {
    let stats = Stat::ALL.map(Stat::as_str).join("|");
    let measures = Measure::ALL.map(Measure::as_str).join("|");
    let figures: Vec<_> = Figure::ALL.iter().map(|figure| figure.as_str()).collect();
    format!("{stats} _ {measures}; {}; burn_rate(slo, window), budget_remaining(slo)", figures.join(", "))
}

impl Signal {
    /// The same signal over the window that is written; what is wrong if it is not kept for that one.
    pub(super) fn over(self, written: &str) -> Result<Self, String> {
        let windows = match &self {
            Self::Statistic { .. } => WINDOWS,
            Self::Windowed { figure, .. } => figure.windows(),
            _ => return Err(format!("{self} is a figure of the moment and has no window")),
        };
        let Some(&window) = windows.iter().find(|window| window.as_str() == written) else {
            let allowed: Vec<_> = windows.iter().map(|window: &Window| window.as_str()).collect();
            let allowed = allowed.join(", ");
            return Err(format!("{} is no window of {self} (windows are {allowed})", quoted(written)));
        };
        Ok(match self {
            Self::Statistic { stat, measure, .. } => Self::Statistic { stat, measure, window },
            Self::Windowed { figure, .. } => Self::Windowed { figure, window },
            other => other,
        })
    }

    /// A window of error budgets.
    pub(super) fn burn_window(written: &str) -> Result<BurnWindow, String> {
        BurnWindow::ALL.into_iter().find(|window| window.as_str() == written).ok_or_else(|| {
            let allowed = BurnWindow::ALL.map(BurnWindow::as_str).join(", ");
            format!("{} is no window of burn_rate (windows are {allowed})", quoted(written))
        })
    }
}

/// Whether a text may name a rule or an action.
pub(super) fn is_name(name: &str) -> bool {
    (1..=128).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_:.-".contains(&b))
}
