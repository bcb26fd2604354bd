//! One request and what became of it.

use std::io;

use eventsource_stream::{Event, Eventsource};
use futures_util::StreamExt;
use reqwest::{Client, Response, StatusCode};
use serde_json::Value;
use tokio::io::AsyncBufReadExt;
use tokio_util::io::StreamReader;

use super::report::Outcome;
use crate::workload::{Request, Shape};

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
    match request.shape {
        Shape::Ollama => read_lines(response, request.leave_after).await,
        shape if shape.streams() => read_stream(response, shape, request.leave_after).await,
        _ => (read_whole(response).await, 0),
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

/// Reads to the end, or until the client has had enough and drops the connection.
async fn read_stream(response: Response, shape: Shape, leave_after: Option<u32>) -> (Outcome, u64) {
    let mut events = response.bytes_stream().eventsource();
    let mut received = 0;
    let (mut failed, mut whole) = (false, false);
    while let Some(event) = events.next().await {
        let Ok(event) = event else { return (Outcome::Broken, received) };
        received += 1;
        if leave_after.is_some_and(|most| received >= u64::from(most)) {
            return (Outcome::Cancelled, received);
        }
        // Whatever comes behind the last event is one too many.
        failed |= whole;
        whole |= is_last(shape, &event);
        failed |= event.data != "[DONE]" && is_error(&event.data);
    }
    (if whole && !failed { Outcome::Ok } else { Outcome::Broken }, received)
}

/// Whether the streams of this shape end with this event.
fn is_last(shape: Shape, event: &Event) -> bool {
    match shape {
        Shape::Responses => matches!(&*event.event, "response.completed" | "response.incomplete"),
        Shape::Messages => event.event == "message_stop",
        _ => event.data == "[DONE]",
    }
}

/// What is no JSON is an error as well.
fn is_error(data: &str) -> bool {
    serde_json::from_str::<Value>(data)
        .map_or(true, |data| data["type"] == "response.failed" || !data["error"].is_null())
}

/// Reads one document a line, as [`read_stream`] reads events.
async fn read_lines(response: Response, leave_after: Option<u32>) -> (Outcome, u64) {
    let bytes = response.bytes_stream().map(|read| read.map_err(io::Error::other));
    let mut lines = StreamReader::new(bytes).lines();
    let mut received = 0;
    let (mut failed, mut whole) = (false, false);
    loop {
        let line = match lines.next_line().await {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(_) => return (Outcome::Broken, received),
        };
        received += 1;
        if leave_after.is_some_and(|most| received >= u64::from(most)) {
            return (Outcome::Cancelled, received);
        }
        failed |= whole || is_error(&line);
        whole |= serde_json::from_str::<Value>(&line).is_ok_and(|line| line["done"] == true);
    }
    (if whole && !failed { Outcome::Ok } else { Outcome::Broken }, received)
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
