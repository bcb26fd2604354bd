//! Samples made by hand.

use super::backend::{Server, Usage};
use super::run::{Asked, End, Outcome, Sample, Stop, Times, Unsent, VllmView, Wire};

const MS: u64 = 1_000_000;

/// A complete stream without events, due at 0, sent and over at those times in milliseconds.
pub(crate) fn sample(index: u64, sent_ms: u64, ended_ms: u64) -> Sample {
    Sample {
        index,
        id: format!("b-{index}"),
        asked: Asked::default(),
        times: Times {
            intended_ns: 0,
            sent_ns: sent_ms * MS,
            head_ns: Some(sent_ms * MS),
            ended_ns: ended_ms * MS,
        },
        arrivals: Vec::new(),
        end: End::Complete,
        usage: Usage::default(),
        vllm: VllmView { output_tokens: None, is_success: true },
        server: Server::default(),
        wire: Wire { status: Some(200), is_stream: true, bytes: 100 },
        finish: Some("stop".into()),
        text: None,
    }
}

/// A run of those samples that took so long.
pub(crate) fn outcome(samples: Vec<Sample>, millis: u64) -> Outcome {
    Outcome {
        samples,
        started_ns: 0,
        duration: std::time::Duration::from_millis(millis),
        stop: Stop::Finished,
        unsent: Unsent::default(),
        failed_warmups: 0,
    }
}
