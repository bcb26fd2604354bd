//! Which model a server has.

use std::time::Duration;

use http::StatusCode;
use serde_json::Value;
use tokio::time::timeout;

use super::config::{BenchError, Target};
use crate::bench::backend::Backend;

/// A server that takes longer to list its models does not.
const PATIENCE: Duration = Duration::from_secs(30);

/// The most bytes of a list of models.
const MAX_LIST: usize = 4 << 20;

/// The first model that a server lists under `/v1/models`.
///
/// # Errors
///
/// When it lists none, or cannot be asked.
pub async fn first_model(target: &Target) -> Result<String, BenchError> {
    let listing = Target { endpoint: Some("/v1/models".to_owned()), ..target.clone() };
    let url = listing.url(Backend::Chat)?;
    let wrong = |says: String| BenchError::Url(url.to_string(), says);
    let client = listing.client(Backend::Chat)?;
    let asked = async {
        let mut answer = client.get().await.map_err(|lost| wrong(lost.to_string()))?;
        if answer.status() != StatusCode::OK.as_u16() {
            return Err(wrong(format!("status {}", answer.status())));
        }
        let body = answer.read_at_most(MAX_LIST).await.map_err(|lost| wrong(lost.to_string()))?;
        serde_json::from_slice::<Value>(&body).map_err(|error| wrong(error.to_string()))
    };
    let late = |_| wrong(format!("no answer within {} s", PATIENCE.as_secs()));
    let listed = timeout(PATIENCE, asked).await.map_err(late)??;
    let first = listed["data"][0]["id"].as_str().map(str::to_owned);
    first.ok_or_else(|| wrong("it lists no model".to_owned()))
}
