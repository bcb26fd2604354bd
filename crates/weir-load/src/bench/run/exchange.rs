//! One request, from just before it is sent until its answer is over.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use eventsource_stream::{EventStreamError, Eventsource};
use futures_util::StreamExt;
use http::header::CONTENT_TYPE;
use reqwest::{Response, StatusCode};
use tokio::time::sleep_until;

use super::sample::{Arrival, End, Failure, Sample, VllmView};
use super::shared::Shared;
use crate::bench::ask::{Ask, Leave};
use crate::bench::backend::{Backend, Reader, Told};
use crate::clock::{self, FOREVER};

/// The most bytes of an answer that is no stream.
const MAX_WHOLE: usize = 64 << 20;

/// The most bytes that are read of the body of an error.
const MAX_ERROR: usize = 64 << 10;

/// Sends a request and writes down what comes back.
pub(super) async fn exchange(shared: &Shared, ask: &Ask, sample: &mut Sample) {
    let body = shared.backend.body(ask, &shared.body);
    sample.times.sent_ns = shared.elapsed_ns();
    let mut patience = (shared.timeout, End::Failed(Failure::Timeout, String::new()));
    if let Some(Leave::After(after)) = ask.leave
        && after < patience.0
    {
        patience = (after, End::Left);
    }
    let mut reader = Reader::new(shared.backend, shared.keeps_text || ask.turn.is_some());
    let end = {
        let deadline = clock::now() + patience.0.min(FOREVER);
        let answered = pin!(converse(shared, ask, body, sample, &mut reader));
        tokio::select! {
            biased;
            () = shared.stop.cancelled() => End::Cancelled,
            end = answered => end,
            () = sleep_until(deadline) => patience.1,
        }
    };
    sample.times.ended_ns = shared.elapsed_ns();
    sample.end = end;
    let is_success = is_vllm_success(shared.backend, sample, reader.told());
    let Told { usage, vllm_output, server, finish, text, .. } = reader.into_told();
    sample.vllm = VllmView { output_tokens: vllm_output, is_success };
    (sample.usage, sample.server) = (usage, server);
    (sample.finish, sample.text) = (finish, text);
}

/// Whether `vllm bench serve` takes a request for a success. It does not look for errors within a stream, and
/// wants the terminal event of the responses API alone.
fn is_vllm_success(backend: Backend, sample: &Sample, told: &Told) -> bool {
    if !sample.wire.is_stream {
        return sample.end == End::Complete;
    }
    let ended_cleanly = matches!(
        sample.end,
        End::Complete | End::Failed(Failure::InBand | Failure::Truncated | Failure::Empty, _)
    );
    let has_token = sample.arrivals.iter().any(|arrival| arrival.is_vllm_token);
    let is_ended = backend != Backend::Responses || told.is_terminal && told.error.is_none();
    ended_cleanly && has_token && is_ended
}

async fn converse(
    shared: &Shared,
    ask: &Ask,
    body: Vec<u8>,
    sample: &mut Sample,
    reader: &mut Reader,
) -> End {
    let request = shared.client.post(shared.url.clone()).headers(shared.headers.clone());
    let sent = request.header("x-request-id", sample.id.as_str()).body(body).send().await;
    let response = match sent {
        Ok(response) => response,
        Err(error) => return broken(&error),
    };
    sample.times.head_ns = Some(shared.elapsed_ns());
    sample.wire.status = Some(response.status().as_u16());
    if response.status() != StatusCode::OK {
        return refused(response, sample).await;
    }
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    // The answer says what it is, whatever was asked for.
    sample.wire.is_stream = kind.is_some_and(|kind| kind.starts_with("text/event-stream"));
    if sample.wire.is_stream {
        read_stream(shared, ask.leave, response, sample, reader).await
    } else {
        read_whole(response, sample, reader).await
    }
}

async fn read_stream(
    shared: &Shared,
    leave: Option<Leave>,
    response: Response,
    sample: &mut Sample,
    reader: &mut Reader,
) -> End {
    // The time of the last read and the bytes so far, noted below the parser of events.
    let last_read = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    let noted = Arc::clone(&last_read);
    let bytes = response.bytes_stream().inspect(|read| {
        if let Ok(read) = read {
            noted[0].store(shared.elapsed_ns(), Ordering::Relaxed);
            noted[1].fetch_add(read.len() as u64, Ordering::Relaxed);
        }
    });
    let mut events = bytes.eventsource();
    let mut outputs = 0;
    while let Some(event) = events.next().await {
        let read = match event {
            Ok(event) => reader.event(&event.data),
            Err(EventStreamError::Transport(error)) => return broken(&error),
            Err(error) => return End::Failed(Failure::Malformed, error.to_string()),
        };
        sample.wire.bytes = last_read[1].load(Ordering::Relaxed);
        let piece = match read {
            Ok(Some(piece)) => piece,
            Ok(None) => continue,
            Err(error) => return End::Failed(Failure::Malformed, error.to_string()),
        };
        sample.arrivals.push(Arrival::new(last_read[0].load(Ordering::Relaxed), piece));
        if piece.output.is_some() {
            shared.live.count_chunk();
            outputs += 1;
            if matches!(leave, Some(Leave::AfterOutput(most)) if outputs >= most) {
                return End::Left;
            }
        }
    }
    judge(reader.told(), outputs > 0)
}

/// How a stream ended that ended cleanly.
fn judge(told: &Told, has_output: bool) -> End {
    if let Some(error) = &told.error {
        return End::Failed(Failure::InBand, error.clone());
    }
    if !told.is_terminal && told.finish.is_none() {
        return End::Failed(Failure::Truncated, String::new());
    }
    if !has_output {
        return End::Failed(Failure::Empty, told.finish.clone().unwrap_or_default());
    }
    End::Complete
}

async fn read_whole(response: Response, sample: &mut Sample, reader: &mut Reader) -> End {
    let body = match read_at_most(response, MAX_WHOLE, sample).await {
        Ok(body) => body,
        Err(error) => return broken(&error),
    };
    let text = String::from_utf8_lossy(&body);
    if let Err(error) = reader.whole(&text) {
        return End::Failed(Failure::Malformed, error.to_string());
    }
    match &reader.told().error {
        Some(error) => End::Failed(Failure::InBand, error.clone()),
        None => End::Complete,
    }
}

async fn refused(response: Response, sample: &mut Sample) -> End {
    let status = response.status().as_u16();
    let body = read_at_most(response, MAX_ERROR, sample).await.unwrap_or_default();
    End::Failed(Failure::Status(status), super::short(String::from_utf8_lossy(&body).into_owned()))
}

async fn read_at_most(mut response: Response, most: usize, sample: &mut Sample) -> reqwest::Result<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(read) = response.chunk().await? {
        sample.wire.bytes += read.len() as u64;
        let room = most - body.len();
        body.extend_from_slice(&read[..read.len().min(room)]);
        if body.len() == most {
            break;
        }
    }
    Ok(body)
}

fn broken(error: &reqwest::Error) -> End {
    let failure = if error.is_connect() {
        Failure::Connect
    } else if error.is_timeout() {
        Failure::Timeout
    } else {
        Failure::Broken
    };
    // The first cause says more than the message that wraps it.
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    End::Failed(failure, super::short(cause.to_string()))
}
