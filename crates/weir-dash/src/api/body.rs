//! The bodies of requests: short, in time, and JSON.

use std::time::Duration;

use http::HeaderMap;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::guard::is_json;
use crate::refusal::Refusal;

/// Longer bodies are not read.
const MAX_BODY: usize = 16 * 1024;

/// How long a body may take to come.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// Reads a body. An empty one says nothing: it is read as `{}`.
pub(super) async fn read<T: DeserializeOwned>(headers: &HeaderMap, body: Incoming) -> Result<T, Refusal> {
    if !is_json(headers) {
        return Err(Refusal::NotJson);
    }
    let body = timeout(BODY_TIMEOUT, Limited::new(body, MAX_BODY).collect()).await;
    let body = match body {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => return Err(Refusal::LongBody),
        Ok(Err(_)) | Err(_) => return Err(Refusal::LateBody),
    };
    let text: &[u8] = if body.is_empty() { b"{}" } else { &body };
    serde_json::from_slice(text).map_err(|error| Refusal::Body(format!("the body is wrong: {error}")))
}
