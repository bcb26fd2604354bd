//! The figures of a demo: every value of a minute, so that its percentiles are exact.

use std::collections::BTreeMap;

use weir_core::exchange::Exchange;
use weir_core::outcome::Outcome;
use weir_core::timeline::Offset;

/// What was seen of the exchanges so far. Times in seconds.
#[derive(Debug, Default)]
pub(super) struct Figures {
    pub(super) ttft: Values,
    pub(super) itl: Values,
    pub(super) tpot: Values,
    pub(super) e2e: Values,
    pub(super) queue_wait: Values,
    pub(super) tps: Values,
    pub(super) outcomes: BTreeMap<Outcome, u64>,
    /// By the name of their dialect.
    pub(super) dialects: BTreeMap<&'static str, u64>,
    pub(super) output_tokens: u64,
}

impl Figures {
    /// Adds an exchange. What it does not have is not counted.
    pub(super) fn add(&mut self, exchange: &Exchange) {
        let seconds = |offset: Option<Offset>| offset.map(Offset::as_secs_f64);
        self.ttft.extend(seconds(exchange.timeline.ttft()));
        self.tpot.extend(exchange.tpot());
        self.tps.extend(exchange.tps());
        self.queue_wait.extend(seconds(exchange.timeline.queue_wait()));
        if exchange.outcome == Outcome::Completed {
            self.e2e.extend(seconds(exchange.timeline.e2e()));
        }
        if let Some(output) = &exchange.answer.output {
            self.itl.extend(output.all_gaps.iter().flatten().map(|gap| gap.as_secs_f64()));
        }
        *self.outcomes.entry(exchange.outcome).or_default() += 1;
        *self.dialects.entry(exchange.request.dialect.as_str()).or_default() += 1;
        self.output_tokens += exchange.answer.tokens.map_or(0, |tokens| tokens.count);
    }

    /// How many exchanges there were.
    pub(super) fn exchanges(&self) -> u64 {
        self.outcomes.values().sum()
    }
}

/// Values of one figure.
#[derive(Debug, Default)]
pub(super) struct Values(Vec<f64>);

impl Values {
    fn extend(&mut self, values: impl IntoIterator<Item = f64>) {
        self.0.extend(values);
    }

    /// The mean; absent without values.
    pub(super) fn mean(&self) -> Option<f64> {
        (!self.0.is_empty()).then(|| self.0.iter().sum::<f64>() / self.0.len() as f64)
    }

    /// The quantiles asked for, by nearest rank; absent without values.
    pub(super) fn quantiles<const N: usize>(&self, asked: [f64; N]) -> Option<[f64; N]> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        Some(asked.map(|q| sorted[((q * sorted.len() as f64).ceil() as usize).saturating_sub(1).min(last)]))
    }
}

#[cfg(test)]
mod tests {
    use super::Values;

    #[test]
    fn quantiles_by_nearest_rank() {
        let values = Values((1..=100).rev().map(f64::from).collect());
        assert_eq!(values.quantiles([0.5, 0.95, 0.99, 1.0]), Some([50.0, 95.0, 99.0, 100.0]));
        assert_eq!(values.mean(), Some(50.5));
        assert_eq!(Values(vec![7.0]).quantiles([0.5]), Some([7.0]));
        assert_eq!(Values::default().quantiles([0.5]), None);
    }
}
