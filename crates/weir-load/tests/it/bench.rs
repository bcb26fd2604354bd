//! The bench against the simulated engine.

use std::path::PathBuf;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use weir_load::bench::ask::{Ask, Leave, Message, Prompt, Turn};
use weir_load::bench::backend::{Backend, BodyOptions, Output};
use weir_load::bench::run::{BenchConfig, End, Failure, Limits, Outcome, Sample, Stop, Target, run};
use weir_load::bench::schedule::{Rate, Schedule};
use weir_load::engine::{Behaviour, Engine, EngineConfig};
use weir_load::truth::{StreamTruth, read};

use crate::wire::{config, engine, guarded, until};

/// A run of `backend` against an engine, all requests at once, without an end.
fn bench(engine: &Engine, backend: Backend) -> BenchConfig {
    BenchConfig {
        target: Target { base_url: format!("http://{}", engine.addr()), ..Target::default() },
        backend,
        body: BodyOptions { model: "sim".into(), max_tokens: Some(8), ..BodyOptions::default() },
        schedule: Schedule::new(Rate::Unlimited, 1.0, 5).unwrap(),
        limits: Limits::default(),
        id_prefix: "b-".into(),
        keeps_text: false,
    }
}

fn asks(count: usize) -> Vec<Ask> {
    (0..count).map(|nth| Ask::new(format!("prompt number {nth}"))).collect()
}

async fn finished(config: &BenchConfig, asks: Vec<Ask>) -> Outcome {
    guarded(run(config, asks, &CancellationToken::new(), |_| ())).await.unwrap()
}

fn steered(mut config: BenchConfig, headers: &[(&str, &str)]) -> BenchConfig {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    config.target.headers.extend(headers);
    config
}

fn outputs(sample: &Sample) -> Vec<Output> {
    sample.arrivals.iter().filter_map(|arrival| arrival.output).collect()
}

#[tokio::test]
async fn each_api_is_counted_to_the_token() {
    for backend in Backend::ALL {
        let engine = engine(config()).await;
        let outcome = finished(&bench(&engine, backend), asks(5)).await;
        assert_eq!((outcome.samples.len(), outcome.stop), (5, Stop::Finished), "{backend}");
        for (index, sample) in outcome.samples.iter().enumerate() {
            assert_eq!((sample.index, sample.id.as_str()), (index as u64, format!("b-{index}").as_str()));
            assert_eq!(sample.end, End::Complete, "{backend}");
            assert_eq!(sample.usage.output, Some(8), "{backend}");
            assert_eq!(sample.vllm.output_tokens, Some(8), "{backend}");
            // The engine counts words, and adds a template to a chat.
            assert!(sample.usage.input.unwrap() >= 3, "{backend}");
            assert_eq!(outputs(sample), [Output::Content; 8], "{backend}");
            assert!(sample.wire.is_stream && sample.wire.bytes > 0);
            assert_eq!(sample.wire.status, Some(200));
        }
        assert_eq!(until(&engine, |stats| stats.completed == 5).await.requests, 5);
    }
}

#[tokio::test]
async fn answers_that_are_no_streams_are_read_too() {
    for backend in Backend::ALL {
        let engine = engine(config()).await;
        let config = BenchConfig { keeps_text: true, ..bench(&engine, backend) };
        let ask = Ask { stream: false, output_tokens: Some(3), ..Ask::new("hi") };
        let outcome = finished(&config, vec![ask]).await;
        let sample = &outcome.samples[0];
        assert_eq!((&sample.end, sample.usage.output), (&End::Complete, Some(3)), "{backend}");
        assert!(sample.arrivals.is_empty() && !sample.wire.is_stream);
        assert_eq!(sample.text.as_ref().unwrap().split_whitespace().count(), 3, "{backend}");
    }
}

#[tokio::test]
async fn reasoning_is_told_apart() {
    let engine = engine(config()).await;
    let mut config = bench(&engine, Backend::Chat);
    config.body.extra.insert("reasoning_effort".into(), "low".into());
    let config = steered(config, &[("x-sim-reasoning", "reasoning_content")]);
    let outcome = finished(&config, asks(1)).await;
    let sample = &outcome.samples[0];
    assert_eq!(outputs(sample), [[Output::Reasoning; 4], [Output::Content; 4]].concat());
    // The bench of vLLM does not know that field.
    assert_eq!(sample.arrivals.iter().filter(|arrival| arrival.is_vllm_token).count(), 4);
}

/// A file in the temporary folder, removed with the value.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[tokio::test]
async fn times_are_those_of_the_engines_own_log() {
    let name = format!("weir-load-{}-bench.jsonl", std::process::id());
    let file = Scratch(std::env::temp_dir().join(name));
    let behaviour = Behaviour { ttft: Duration::from_millis(30), tps: 200.0, ..Behaviour::default() };
    let engine = engine(EngineConfig { behaviour, truth: Some(file.0.clone()), ..config() }).await;
    let outcome = finished(&bench(&engine, Backend::Chat), asks(4)).await;
    engine.shutdown().await;
    let truths = read(&file.0).unwrap();
    assert_eq!(truths.len(), 4);
    for sample in &outcome.samples {
        let truth = truths.iter().find(|truth| truth.id == sample.id).unwrap();
        compare(sample, truth, outcome.started_ns);
    }
}

/// Nothing is read before it was written, nor sent after it was received. Both ends read the same clock.
fn compare(sample: &Sample, truth: &StreamTruth, started_ns: u64) {
    assert!(started_ns + sample.times.sent_ns <= truth.t_first_byte);
    let tokens: Vec<u64> = sample
        .arrivals
        .iter()
        .filter(|arrival| arrival.output.is_some())
        .map(|arrival| started_ns + arrival.at_ns)
        .collect();
    // The role goes before the first token, and may share a write with it.
    let writes: Vec<u64> = (1..=8)
        .map(|event| truth.writes.iter().rfind(|write| write.first_event <= event).unwrap().before_ns)
        .collect();
    assert_eq!(tokens.len(), writes.len());
    for (nth, (token, write)) in tokens.iter().zip(&writes).enumerate() {
        assert!(write <= token, "token {nth}");
    }
    let ttft = tokens[0] - started_ns - sample.times.sent_ns;
    assert!(ttft >= 30_000_000, "{ttft}");
    // No token leaves before it is due: the first after 30 ms, then one each 5 ms.
    for (nth, token) in tokens.iter().enumerate() {
        assert!(token - truth.t_request >= (30 + 5 * nth as u64) * 1_000_000, "token {nth}");
    }
}

#[tokio::test]
async fn failures_have_their_class() {
    for (fault, expected) in [
        ("429", Failure::Status(429)),
        ("503", Failure::Status(503)),
        ("error;at=2", Failure::InBand),
        ("drop", Failure::Broken),
        ("reset;at=2", Failure::Broken),
        ("abort;at=2", Failure::Broken),
    ] {
        for backend in Backend::ALL {
            let engine = engine(config()).await;
            let config = steered(bench(&engine, backend), &[("x-sim-fault", fault)]);
            let outcome = finished(&config, asks(1)).await;
            let sample = &outcome.samples[0];
            assert!(
                matches!(&sample.end, End::Failed(failure, _) if *failure == expected),
                "{fault} of {backend}: {:?}",
                sample.end
            );
        }
    }
}

#[tokio::test]
async fn what_never_ends_is_given_up_in_time() {
    let engine = engine(config()).await;
    let mut config = steered(bench(&engine, Backend::Chat), &[("x-sim-fault", "stall;at=2")]);
    config.limits.timeout = Duration::from_millis(50);
    let outcome = finished(&config, asks(1)).await;
    assert!(matches!(outcome.samples[0].end, End::Failed(Failure::Timeout, _)));
    let nowhere = BenchConfig {
        target: Target { base_url: "http://127.0.0.1:1".into(), ..Target::default() },
        ..bench(&engine, Backend::Chat)
    };
    let outcome = finished(&nowhere, asks(1)).await;
    assert!(matches!(outcome.samples[0].end, End::Failed(Failure::Connect, _)));
}

#[tokio::test]
async fn clients_leave_when_their_data_set_says() {
    let engine = engine(config()).await;
    let config = steered(bench(&engine, Backend::Chat), &[("x-sim-fault", "stall;at=4")]);
    let leaving = |leave| Ask { leave: Some(leave), ..Ask::new("hi") };
    let asks = vec![leaving(Leave::AfterOutput(2)), leaving(Leave::After(Duration::from_millis(40)))];
    let outcome = finished(&config, asks).await;
    assert_eq!(outcome.samples[0].end, End::Left);
    assert_eq!(outputs(&outcome.samples[0]).len(), 2);
    assert_eq!(outcome.samples[1].end, End::Left);
    assert!(outcome.samples[1].times.ended_ns >= 40_000_000);
}

#[tokio::test]
async fn an_interrupted_run_gives_what_it_has() {
    let engine = engine(config()).await;
    let config = bench(&engine, Backend::Chat);
    let cancel = CancellationToken::new();
    // Three are answered, and the fourth takes minutes.
    let mut requests = asks(4);
    requests[3].output_tokens = Some(100_000);
    let config = steered(config, &[("x-sim-tps", "1000")]);
    let outcome = guarded(run(&config, requests, &cancel, |progress| {
        if progress.completed == 3 {
            cancel.cancel();
        }
    }));
    let outcome = outcome.await.unwrap();
    assert_eq!((outcome.samples.len(), outcome.stop), (4, Stop::Interrupted));
    assert_eq!(outcome.samples[3].end, End::Cancelled);
    assert!(!outputs(&outcome.samples[3]).is_empty());
    assert!(outcome.samples[..3].iter().all(|sample| sample.end == End::Complete));
    until(&engine, |stats| stats.gone == 1).await;
}

#[tokio::test]
async fn one_that_waits_for_another_is_late() {
    let behaviour = Behaviour { ttft: Duration::from_millis(20), tps: f64::INFINITY, ..Behaviour::default() };
    let engine = engine(EngineConfig { behaviour, ..config() }).await;
    let mut config = bench(&engine, Backend::Chat);
    config.limits.max_concurrency = Some(1);
    let outcome = finished(&config, asks(4)).await;
    let samples = &outcome.samples;
    assert!(samples.iter().all(|sample| sample.times.intended_ns == 0));
    for (nth, pair) in samples.windows(2).enumerate() {
        assert!(pair[1].times.sent_ns >= pair[0].times.ended_ns);
        assert!(pair[1].times.lateness_ns() >= (nth as u64 + 1) * 20_000_000);
    }
    assert_eq!(until(&engine, |stats| stats.completed == 4).await.peak_active, 1);
}

#[tokio::test]
async fn requests_are_due_when_the_schedule_and_the_data_set_say() {
    let engine = engine(config()).await;
    let mut config = bench(&engine, Backend::Chat);
    config.schedule = Schedule::new(Rate::Fixed(200.0), f64::INFINITY, 5).unwrap();
    let outcome = finished(&config, asks(6)).await;
    for (nth, sample) in outcome.samples.iter().enumerate() {
        assert_eq!(sample.times.intended_ns, (nth as u64 + 1) * 5_000_000);
        assert!(sample.times.sent_ns >= sample.times.intended_ns, "sent early");
    }
    let at = |millis| Ask { at: Some(Duration::from_millis(millis)), ..Ask::new("hi") };
    let outcome = finished(&config, vec![at(1), at(30)]).await;
    let due: Vec<u64> = outcome.samples.iter().map(|sample| sample.times.intended_ns).collect();
    assert_eq!(due, [1_000_000, 30_000_000]);
}

#[tokio::test]
async fn a_run_ends_by_number_or_by_time() {
    let engine = engine(config()).await;
    let mut config = bench(&engine, Backend::Chat);
    config.limits.requests = Some(3);
    let outcome = finished(&config, asks(10)).await;
    assert_eq!((outcome.samples.len(), outcome.stop), (3, Stop::Finished));

    // Of ten requests in 100 ms, those after the half of it are not sent.
    config.limits.requests = None;
    config.limits.duration = Some(Duration::from_millis(55));
    config.schedule = Schedule::new(Rate::Fixed(100.0), f64::INFINITY, 5).unwrap();
    let outcome = finished(&config, asks(10)).await;
    assert_eq!(outcome.stop, Stop::TimeUp);
    assert_eq!(outcome.samples.len() as u64 + outcome.unsent.overdue, 5);

    // One that takes too long after the end is given up.
    config.limits.drain = Some(Duration::ZERO);
    config.limits.duration = Some(Duration::from_millis(15));
    let config = steered(config, &[("x-sim-fault", "stall;at=2")]);
    let outcome = finished(&config, asks(10)).await;
    assert!(outcome.samples.iter().all(|sample| sample.end == End::Cancelled));
    assert_eq!(outcome.samples.len() as u64 + outcome.unsent.overdue, 1);
}

#[tokio::test]
async fn warm_ups_do_not_count() {
    let engine = engine(config()).await;
    let mut config = bench(&engine, Backend::Chat);
    config.limits.warmups = 3;
    let outcome = finished(&config, asks(2)).await;
    assert_eq!((outcome.samples.len(), outcome.failed_warmups), (2, 0));
    assert_eq!(until(&engine, |stats| stats.completed == 5).await.requests, 5);
    let outcome = finished(&steered(config, &[("x-sim-fault", "500")]), asks(1)).await;
    assert_eq!(outcome.failed_warmups, 3);
}

fn turn(conversation: u64, nth: u32) -> Ask {
    let message = |role: &str, content: &str| Message { role: role.into(), content: content.into() };
    let mut messages = vec![message("user", "begin")];
    for _ in 0..nth {
        messages.extend([message("assistant", "?"), message("user", "go on")]);
    }
    let turn = Turn { conversation, nth, pause: Duration::from_millis(5) };
    Ask { prompt: Prompt::Messages(messages), turn: Some(turn), ..Ask::new("") }
}

#[tokio::test]
async fn a_turn_is_asked_when_the_one_before_was_answered() {
    let engine = engine(config()).await;
    let config = bench(&engine, Backend::Chat);
    let asks = (0..2).flat_map(|conversation| (0..3).map(move |nth| turn(conversation, nth)));
    let outcome = finished(&config, asks.collect()).await;
    assert_eq!((outcome.samples.len(), outcome.unsent.turns), (6, 0));
    for turns in outcome.samples.chunks(3) {
        for pair in turns.windows(2) {
            assert_eq!(pair[1].times.intended_ns, pair[0].times.ended_ns + 5_000_000);
            // Eight words of the answer took the place of the data set's one, and there is a new question.
            let more = pair[1].usage.input.unwrap() - pair[0].usage.input.unwrap();
            assert!(more >= 8 + 2, "{more} more tokens in the prompt");
        }
    }
    let failing = steered(config, &[("x-sim-fault", "500")]);
    let outcome = finished(&failing, (0..3).map(|nth| turn(1, nth)).collect()).await;
    assert_eq!((outcome.samples.len(), outcome.unsent.turns), (1, 2));
}
