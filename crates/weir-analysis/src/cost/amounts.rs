//! What is counted of exchanges and their costs.

use serde::{Deserialize, Serialize};
use weir_core::dialect::Dialect;
use weir_core::exchange::Exchange;
use weir_core::outcome::Outcome;
use weir_core::timeline::Mark;

use super::money::NanoUsd;
use super::sliding::Add;
use super::tokens::Tokens;
use super::valuation::Valuation;

/// Sums over exchanges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Amounts {
    /// The cost of those that have one.
    pub(super) cost: NanoUsd,
    /// As much of it is estimated.
    pub(super) estimated: NanoUsd,
    /// What caches saved, where that is known.
    pub(super) saved: NanoUsd,
    /// Of how many that is known.
    pub(super) saved_known: u64,
    /// Exchanges that have a cost.
    pub(super) priced: u64,
    /// Those of them of which only the output has.
    pub(super) output_only: u64,
    /// Tokens of those that have a cost.
    pub(super) input_tokens: u64,
    /// As above.
    pub(super) output_tokens: u64,
    /// Exchanges that have none.
    pub(super) unpriced: u64,
    /// Their tokens, where they are known.
    pub(super) unpriced_tokens: u64,
}

impl Amounts {
    /// Those of one exchange. `None`: there is nothing to pay for.
    pub(super) fn of(exchange: &Exchange, valuation: &Valuation) -> Option<Self> {
        let (input_tokens, output_tokens) = Tokens::of(exchange).known();
        let Some(cost) = valuation.total else {
            let unpriced_tokens = input_tokens.saturating_add(output_tokens);
            return is_billed(exchange).then(|| Self { unpriced: 1, unpriced_tokens, ..Self::default() });
        };
        Some(Self {
            cost,
            estimated: if valuation.estimated { cost } else { NanoUsd(0) },
            saved: valuation.saved_by_cache.unwrap_or_default(),
            saved_known: u64::from(valuation.saved_by_cache.is_some()),
            priced: 1,
            output_only: u64::from(valuation.output_only),
            input_tokens,
            output_tokens,
            ..Self::default()
        })
    }
}

impl Add for Amounts {
    fn add(&mut self, other: &Self) {
        for (mine, theirs) in [
            (&mut self.cost.0, other.cost.0),
            (&mut self.estimated.0, other.estimated.0),
            (&mut self.saved.0, other.saved.0),
            (&mut self.saved_known, other.saved_known),
            (&mut self.priced, other.priced),
            (&mut self.output_only, other.output_only),
            (&mut self.input_tokens, other.input_tokens),
            (&mut self.output_tokens, other.output_tokens),
            (&mut self.unpriced, other.unpriced),
            (&mut self.unpriced_tokens, other.unpriced_tokens),
        ] {
            *mine = mine.saturating_add(theirs);
        }
    }
}

/// Whether an exchange is of a kind that somebody pays for: an engine had it, and did not refuse it.
pub fn is_billed(exchange: &Exchange) -> bool {
    let had = exchange.timeline.at(Mark::Dispatched).is_some();
    had && exchange.request.dialect != Dialect::Other
        && !matches!(
            exchange.outcome,
            Outcome::UpstreamError
                | Outcome::UpstreamUnreachable
                | Outcome::QueueFull
                | Outcome::Refused
                | Outcome::Upgraded
        )
}
