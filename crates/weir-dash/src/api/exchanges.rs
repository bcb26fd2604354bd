//! `/api/exchanges`: those that are over and still kept, the newest first.

use serde::Serialize;
use weir_analysis::api::{ExchangeFilter, ExchangeSummary};

use crate::handles::{AdminHandles, ask};
use crate::refusal::Refusal;

/// The exchanges that were asked for.
#[derive(Debug, Serialize)]
pub(super) struct Exchanges {
    exchanges: Vec<ExchangeSummary>,
}

/// Asks for them.
pub(super) async fn list(filter: ExchangeFilter, handles: &AdminHandles) -> Result<Exchanges, Refusal> {
    let exchanges = ask(&handles.exchanges, filter).await.map_err(Refusal::Unanswered)?;
    Ok(Exchanges { exchanges })
}
