//! Alerts that cannot be judged where a record has no ticks.

use weir_analysis::alert::Signal;
use weir_analysis::alert::signal::Figure;
use weir_analysis::observatory::ObservatoryConfig;

/// Those that read what only ticks tell, and that would be taken for zero without them. All else that ticks
/// tell has no figure then.
pub(super) fn untold(config: &ObservatoryConfig) -> Vec<Box<str>> {
    let owned = config.gpu.is_some();
    let of_ticks = |signal: &Signal| match signal {
        Signal::Windowed { figure, .. } | Signal::Now(figure) => match figure {
            Figure::Concurrency | Figure::StalledStreams => true,
            // Each second of a GPU is divided among those that a tick saw.
            Figure::HourlyCost | Figure::CostPer1kTokens | Figure::CostPer1mTokens => owned,
            _ => false,
        },
        Signal::Statistic { .. } | Signal::BurnRate { .. } | Signal::BudgetRemaining { .. } => false,
    };
    let rules = config.rules.rules().iter();
    rules
        .filter(|rule| rule.condition.comparisons().iter().any(|comparison| of_ticks(&comparison.signal)))
        .map(|rule| rule.name.clone())
        .collect()
}
