//! One request, from just before it is sent until its answer is over.

use std::ops::ControlFlow;
use std::pin::pin;

use http::StatusCode;
use http::header::CONTENT_TYPE;
use tokio::time::sleep_until;

use super::client::Answer;
use super::events::Events;
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
            end = answered => end,
            () = shared.stop.cancelled() => End::Cancelled,
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
    let answer = match shared.client.post(&sample.id, body).await {
        Ok(answer) => answer,
        Err(lost) => return lost.into(),
    };
    sample.times.head_ns = Some(shared.elapsed_ns());
    sample.wire.status = Some(answer.status());
    if answer.status() != StatusCode::OK.as_u16() {
        return refused(answer, sample).await;
    }
    let kind = answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    // The answer says what it is, whatever was asked for.
    sample.wire.is_stream = kind.is_some_and(|kind| kind.starts_with("text/event-stream"));
    if sample.wire.is_stream {
        read_stream(shared, ask.leave, answer, sample, reader).await
    } else {
        read_whole(answer, sample, reader).await
    }
}

async fn read_stream(
    shared: &Shared,
    leave: Option<Leave>,
    mut answer: Answer,
    sample: &mut Sample,
    reader: &mut Reader,
) -> End {
    let mut events = Events::default();
    let mut outputs = 0;
    loop {
        let read = match answer.read().await {
            Ok(Some(read)) => read,
            Ok(None) => return judge(reader.told(), outputs > 0),
            Err(lost) => return lost.into(),
        };
        let at_ns = shared.elapsed_ns();
        sample.wire.bytes += read.len() as u64;
        let split = events.split(&read, |data| {
            let piece = match reader.event(data) {
                Ok(Some(piece)) => piece,
                Ok(None) => return ControlFlow::Continue(()),
                Err(error) => return ControlFlow::Break(End::Failed(Failure::Malformed, error.to_string())),
            };
            sample.arrivals.push(Arrival::new(at_ns, piece));
            if piece.output.is_some() {
                shared.live.count_chunk();
                outputs += 1;
                if matches!(leave, Some(Leave::AfterOutput(most)) if outputs >= most) {
                    return ControlFlow::Break(End::Left);
                }
            }
            ControlFlow::Continue(())
        });
        match split {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(end)) => return end,
            Err(error) => return End::Failed(Failure::Malformed, error.to_string()),
        }
    }
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

async fn read_whole(mut answer: Answer, sample: &mut Sample, reader: &mut Reader) -> End {
    let body = match answer.read_at_most(MAX_WHOLE).await {
        Ok(body) => body,
        Err(lost) => return lost.into(),
    };
    sample.wire.bytes = body.len() as u64;
    let text = String::from_utf8_lossy(&body);
    if let Err(error) = reader.whole(&text) {
        return End::Failed(Failure::Malformed, error.to_string());
    }
    match &reader.told().error {
        Some(error) => End::Failed(Failure::InBand, error.clone()),
        None => End::Complete,
    }
}

async fn refused(mut answer: Answer, sample: &mut Sample) -> End {
    let status = answer.status();
    let body = answer.read_at_most(MAX_ERROR).await.unwrap_or_default();
    sample.wire.bytes = body.len() as u64;
    End::Failed(Failure::Status(status), super::short(String::from_utf8_lossy(&body).into_owned()))
}
