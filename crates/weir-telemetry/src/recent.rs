//! The last exchanges, to be looked at.

use std::collections::VecDeque;
use std::sync::Arc;

use weir_analysis::api::{ExchangeFilter, ExchangeSummary};
use weir_core::exchange::Exchange;

use crate::valued::Valued;

/// As many are kept; the oldest goes first.
const KEPT: usize = 1_024;

/// The last exchanges, without what they said.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    exchanges: VecDeque<Arc<Valued>>,
}

impl Recent {
    /// Keeps an exchange, and gives back a pointer to it for whoever is to have it with its content.
    pub(crate) fn keep(&mut self, mut valued: Valued) -> Arc<Valued> {
        let content = valued.exchange.content.take();
        let lean = Arc::new(valued);
        if self.exchanges.len() == KEPT {
            self.exchanges.pop_front();
        }
        self.exchanges.push_back(Arc::clone(&lean));
        match content {
            None => lean,
            Some(content) => {
                let exchange = Exchange { content: Some(content), ..lean.exchange.clone() };
                Arc::new(Valued { exchange, valuation: lean.valuation })
            }
        }
    }

    /// Those that a filter lets through, the newest first.
    pub(crate) fn list(&self, filter: &ExchangeFilter) -> Vec<ExchangeSummary> {
        let matching = self.exchanges.iter().rev().filter(|valued| filter.matches(&valued.exchange));
        matching
            .take(filter.limit)
            .map(|valued| ExchangeSummary::of(&valued.exchange, valued.cost_usd()))
            .collect()
    }
}
