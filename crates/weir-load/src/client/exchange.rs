//! One request and what became of it.

use eventsource_stream::Eventsource;
use futures_util::StreamExt;
use reqwest::{Client, Response, StatusCode};
use serde_json::Value;

use super::report::Outcome;
use crate::workload::Request;

/// Sends a request and reads its answer; gives the outcome and the number of events received.
pub(crate) async fn exchange(
    client: &Client,
    base_url: &str,
    id: String,
    request: Request,
) -> (Outcome, u64) {
    let sent = client
        .post(format!("{base_url}{}", request.path))
        .header("x-request-id", id)
        .json(&request.body)
        .send()
        .await;
    let Ok(response) = sent else {
        return (Outcome::Broken, 0);
    };
    if let Some(outcome) = refused(response.status()) {
        return (outcome, 0);
    }
    if request.shape.streams() {
        read_stream(response, request.leave_after).await
    } else {
        (read_whole(response).await, 0)
    }
}

/// The outcome of a status that is no success.
fn refused(status: StatusCode) -> Option<Outcome> {
    match status {
        StatusCode::OK => None,
        StatusCode::TOO_MANY_REQUESTS => Some(Outcome::Throttled),
        status if status.is_client_error() => Some(Outcome::ClientError),
        _ => Some(Outcome::ServerError),
    }
}

async fn read_whole(response: Response) -> Outcome {
    match response.json::<Value>().await {
        Ok(_) => Outcome::Ok,
        Err(_) => Outcome::Broken,
    }
}

/// Reads up to `[DONE]`, or until the client has had enough and drops the connection.
async fn read_stream(response: Response, leave_after: Option<u32>) -> (Outcome, u64) {
    let mut events = response.bytes_stream().eventsource();
    let mut received = 0;
    let mut failed = false;
    while let Some(Ok(event)) = events.next().await {
        received += 1;
        if leave_after.is_some_and(|most| received >= u64::from(most)) {
            return (Outcome::Cancelled, received);
        }
        if event.data == "[DONE]" {
            // What follows is the end of the body. Read, it leaves the connection to the next one.
            let ended = events.next().await.is_none();
            let outcome = if ended && !failed { Outcome::Ok } else { Outcome::Broken };
            return (outcome, received);
        }
        failed |=
            serde_json::from_str::<Value>(&event.data).map_or(true, |event| event.get("error").is_some());
    }
    (Outcome::Broken, received)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_have_their_outcomes() {
        for (status, outcome) in [
            (200, None),
            (429, Some(Outcome::Throttled)),
            (404, Some(Outcome::ClientError)),
            (503, Some(Outcome::ServerError)),
            (302, Some(Outcome::ServerError)),
        ] {
            assert_eq!(refused(StatusCode::from_u16(status).unwrap()), outcome, "{status}");
        }
    }
}
