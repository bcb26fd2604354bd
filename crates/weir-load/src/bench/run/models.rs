//! Which model a server has.

use std::time::Duration;

use reqwest::Url;
use serde_json::Value;

use super::config::{BenchError, Target};
use crate::bench::backend::Backend;

/// A server that takes longer to list its models does not.
const PATIENCE: Duration = Duration::from_secs(30);

/// The first model that a server lists under `/v1/models`.
///
/// # Errors
///
/// When it lists none, or cannot be asked.
pub async fn first_model(target: &Target) -> Result<String, BenchError> {
    let listing = Target { endpoint: Some("/v1/models".to_owned()), ..target.clone() };
    let url = listing.url(Backend::Chat)?;
    let wrong = |says: String| BenchError::Url(url.to_string(), says);
    let asked = async {
        let request = target.client()?.get(Url::clone(&url)).headers(target.headers(Backend::Chat)?);
        let response = request.timeout(PATIENCE).send().await.map_err(|error| wrong(deepest(&error)))?;
        let status = response.status();
        if !status.is_success() {
            return Err(wrong(format!("status {}", status.as_u16())));
        }
        response.json::<Value>().await.map_err(|error| wrong(deepest(&error)))
    };
    let listed = asked.await?;
    let first = listed["data"][0]["id"].as_str().map(str::to_owned);
    first.ok_or_else(|| wrong("it lists no model".to_owned()))
}

/// What lies at the bottom of an error says the most.
fn deepest(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
