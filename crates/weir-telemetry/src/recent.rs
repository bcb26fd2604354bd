//! The last exchanges, to be looked at.

use std::collections::VecDeque;
use std::sync::Arc;

use weir_analysis::api::{ExchangeFilter, ExchangeSummary};
use weir_core::exchange::Exchange;

/// As many are kept; the oldest goes first.
const KEPT: usize = 1_024;

/// The last exchanges, without what they said.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    exchanges: VecDeque<Arc<Exchange>>,
}

impl Recent {
    /// Keeps an exchange, and gives back a pointer to it for whoever is to have it with its content.
    pub(crate) fn keep(&mut self, mut exchange: Exchange) -> Arc<Exchange> {
        let content = exchange.content.take();
        let lean = Arc::new(exchange);
        if self.exchanges.len() == KEPT {
            self.exchanges.pop_front();
        }
        self.exchanges.push_back(Arc::clone(&lean));
        match content {
            None => lean,
            Some(content) => Arc::new(Exchange { content: Some(content), ..Exchange::clone(&lean) }),
        }
    }

    /// Those that a filter lets through, the newest first.
    pub(crate) fn list(&self, filter: &ExchangeFilter) -> Vec<ExchangeSummary> {
        let matching = self.exchanges.iter().rev().filter(|exchange| filter.matches(exchange));
        matching.take(filter.limit).map(|exchange| ExchangeSummary::of(exchange, None)).collect()
    }
}
