//! What exchanges cost, counted by model and upstream.

use weir_analysis::cost::{NanoUsd, Source, Valuation, is_billed};
use weir_core::exchange::Exchange;

/// Where a cost may be known from, in the order of declaration.
pub(super) const SOURCES: [Source; 4] = [Source::Upstream, Source::Override, Source::Gpu, Source::PriceBook];

/// The costs of one model at one upstream. Absent until one is known.
#[derive(Debug, Default)]
pub(super) struct Money {
    /// By [`SOURCES`].
    pub(super) costs: [Option<NanoUsd>; SOURCES.len()],
    pub(super) saved_by_cache: Option<NanoUsd>,
    /// Exchanges that an engine worked for and that have no cost.
    pub(super) unpriced: u64,
}

impl Money {
    /// Counts an exchange with its price.
    pub(super) fn add(&mut self, exchange: &Exchange, valuation: &Valuation) {
        match (valuation.total, self.costs.get_mut(valuation.source as usize)) {
            (Some(total), Some(cost)) => add(cost, Some(total)),
            _ => self.unpriced += u64::from(is_billed(exchange)),
        }
        add(&mut self.saved_by_cache, valuation.saved_by_cache);
    }
}

fn add(sum: &mut Option<NanoUsd>, amount: Option<NanoUsd>) {
    if let Some(amount) = amount {
        *sum = Some(sum.unwrap_or_default().plus(amount));
    }
}

#[cfg(test)]
mod tests {
    use super::SOURCES;

    #[test]
    fn sources_stand_in_the_order_of_declaration() {
        assert!(SOURCES.iter().enumerate().all(|(i, &source)| source as usize == i));
    }
}
