//! An exchange with what it costs.

use weir_analysis::cost::{NanoUsd, Valuation};
use weir_core::exchange::Exchange;

/// An exchange and its price, which is worked out once. A price that is not known is absent.
#[derive(Clone, Debug)]
pub(crate) struct Valued {
    pub(crate) exchange: Exchange,
    pub(crate) valuation: Valuation,
}

impl Valued {
    /// What it costs, in US dollars.
    pub(crate) fn cost_usd(&self) -> Option<f64> {
        self.valuation.total.map(NanoUsd::usd)
    }
}
