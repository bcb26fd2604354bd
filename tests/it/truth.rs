//! What is recorded against what the simulated engine says that it wrote.

use std::collections::HashMap;
use std::time::Duration;

use tokio::task::JoinSet;
use weir_core::exchange::Exchange;
use weir_core::timeline::Mark;
use weir_load::engine::{Behaviour, Engine, EngineConfig, RoleChunk};
use weir_load::truth::{StreamEnd, StreamTruth, read};

use crate::harness::play::verdict;
use crate::harness::{Rig, Wire, request};

/// Loose enough for any machine; what is typical is far below.
const MEDIAN: u64 = 5_000_000;

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}

/// The time before the write that carried an event.
fn written(truth: &StreamTruth, event: u64) -> u64 {
    let write = truth
        .writes
        .iter()
        .find(|write| (write.first_event..write.first_event + write.events).contains(&event));
    write.unwrap_or_else(|| panic!("event {event} was never written: {truth:?}")).before_ns
}

/// Asks for a stream and reads it to its end, whatever that is.
async fn read_stream(address: std::net::SocketAddr, headers: String, tokens: u64) {
    let mut client = Wire::connect(address).await;
    let body = format!(
        r#"{{"model":"sim","messages":[],"stream":true,"max_tokens":{tokens},"stream_options":{{"include_usage":true}}}}"#
    );
    client.send(request("POST /v1/chat/completions", &headers, body)).await;
    client.response_head().await;
    client.body_to_end().await;
}

/// Runs these streams at once; returns each one's record with the truth about it.
async fn run(streams: &[(String, u64)]) -> Vec<(Exchange, StreamTruth)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("truth.jsonl");
    let behaviour =
        Behaviour { ttft: Duration::from_millis(40), role: RoleChunk::Early, ..Behaviour::default() };
    let config = EngineConfig { behaviour, truth: Some(path.clone()), ..EngineConfig::default() };
    let engine = Engine::bind(config, ([127, 0, 0, 1], 0).into()).await.unwrap();
    let mut rig = Rig::towards(engine.addr(), |_| {});
    let mut clients = JoinSet::new();
    for (index, (headers, tokens)) in streams.iter().enumerate() {
        clients.spawn(read_stream(rig.address, format!("X-Request-Id: s{index}\r\n{headers}"), *tokens));
    }
    clients.join_all().await;
    let mut records = Vec::new();
    for _ in streams {
        records.push(rig.record().await);
    }
    assert!(rig.has_no_record());
    engine.shutdown().await;
    let mut truths: HashMap<_, _> =
        read(&path).unwrap().into_iter().map(|truth| (truth.id.clone(), truth)).collect();
    let pair = |record: Exchange| {
        let truth = truths.remove(&*record.request_id).expect("the truth about each stream");
        (record, truth)
    };
    records.into_iter().map(pair).collect()
}

/// How far a record's arrivals of chunks lie behind their writes, and how far its gaps are from the
/// truth. `chunks` events follow the role.
fn errors(record: &Exchange, truth: &StreamTruth, chunks: u64) -> (Vec<u64>, Vec<u64>) {
    let output = record.answer.output.as_ref().unwrap();
    assert_eq!(output.chunks, chunks);
    let at = |mark| record.received_mono.plus(record.timeline.at(mark).unwrap()).0;
    let (first, last) = (at(Mark::FirstToken), at(Mark::LastToken));
    assert!(first >= written(truth, 1), "read before it was written");
    assert!(last >= written(truth, chunks), "read before it was written");
    let late = vec![first - written(truth, 1), last - written(truth, chunks)];
    let gaps = output.all_gaps.as_ref().unwrap();
    assert_eq!(gaps.len() as u64, chunks - 1);
    let gap_errors = (1..)
        .zip(gaps)
        .map(|(event, gap)| gap.0.abs_diff(written(truth, event + 1) - written(truth, event)))
        .collect();
    (late, gap_errors)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_tokens_and_gaps_are_those_of_the_engine() {
    let streams: Vec<_> = (0..10).map(|n| (format!("x-sim-tps: {}\r\n", 100 + 20 * n), 30 + n)).collect();
    let (mut late, mut gaps) = (Vec::new(), Vec::new());
    for (record, truth) in run(&streams).await {
        assert_eq!((verdict(&record), truth.end), (("completed", None), StreamEnd::Ok));
        let (_, tokens) = &streams[record.request_id[1..].parse::<usize>().unwrap()];
        assert_eq!(record.answer.tokens.map(|count| count.count), Some(*tokens), "exactly");
        assert_eq!(record.answer.usage.and_then(|usage| usage.output), Some(*tokens));
        // TTFT as the client has it begins before the engine saw anything.
        let received = record.received_mono.0;
        assert!(received <= truth.t_first_byte);
        let ttft = record.timeline.ttft().unwrap().0;
        assert!(ttft >= 40_000_000 && received + ttft >= written(&truth, 1));
        let (more_late, more_gaps) = errors(&record, &truth, *tokens);
        late.extend(more_late);
        gaps.extend(more_gaps);
    }
    let (late, gaps) = (median(late), median(gaps));
    eprintln!("median: first and last tokens {late} ns after their writes, gaps {gaps} ns off");
    assert!(late < MEDIAN, "{late} ns behind the writes");
    assert!(gaps < MEDIAN, "{gaps} ns off the gaps");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_tokens_in_a_chunk_are_that_many() {
    let streams = vec![("x-sim-tps: 400\r\nx-sim-tokens-per-chunk: 4\r\n".to_owned(), 40); 3];
    for (record, truth) in run(&streams).await {
        assert_eq!(record.answer.tokens.map(|count| count.count), Some(40));
        let (_, gaps) = errors(&record, &truth, 10);
        assert!(median(gaps) < MEDIAN);
        let tpot = record.tpot().unwrap();
        let span = record.timeline.between(Mark::FirstToken, Mark::LastToken).unwrap();
        assert!((tpot * 39.0 - span.as_secs_f64()).abs() < 1e-9);
    }
}

/// Faults of the engine's end as what they are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_are_recorded_as_what_they_are() {
    let fault = |text: &str| (format!("x-sim-tps: 2000\r\nx-sim-fault: {text}\r\n"), 20);
    let cases = [
        ("abort;at=5", ("truncated", Some("upstream_reset")), Some(4)),
        ("reset;at=5", ("truncated", Some("upstream_reset")), Some(4)),
        ("error;at=5", ("stream_error", Some("stream_error")), Some(4)),
        ("reset;at=1", ("truncated", Some("upstream_reset")), None),
    ];
    let streams: Vec<_> = cases.iter().map(|(text, ..)| fault(text)).collect();
    for (record, truth) in run(&streams).await {
        let (text, expected, tokens) = cases[record.request_id[1..].parse::<usize>().unwrap()];
        assert_eq!(truth.end, StreamEnd::Injected);
        assert_eq!(verdict(&record), expected, "{text}");
        assert_eq!(record.answer.tokens.map(|count| count.count), tokens, "{text}");
        assert_eq!(record.timeline.ttft().is_some(), tokens.is_some());
        if let Some(tokens) = tokens {
            errors(&record, &truth, tokens);
        }
    }
}

/// And those before there is an answer.
#[tokio::test]
async fn faults_before_the_answer_are_too() {
    let engine = Engine::bind(EngineConfig::default(), ([127, 0, 0, 1], 0).into()).await.unwrap();
    let mut rig = Rig::towards(engine.addr(), |setup| {
        setup.config.timeouts.response_head = Duration::from_millis(300);
    });
    for (fault, expected) in [
        ("drop", ("upstream_unreachable", Some("upstream_reset"))),
        ("garbage", ("upstream_unreachable", Some("upstream_reset"))),
        ("slow_head;ms=60000", ("timeout", Some("upstream_timeout_headers"))),
        ("429;retry=7", ("upstream_error", Some("rate_limited"))),
        ("500", ("upstream_error", Some("upstream_5xx"))),
        ("503", ("upstream_error", Some("overloaded"))),
    ] {
        read_stream(rig.address, format!("x-sim-fault: {fault}\r\n"), 5).await;
        let record = rig.record().await;
        assert_eq!(verdict(&record), expected, "{fault}");
        assert_eq!((record.timeline.ttft(), record.answer.tokens), (None, None));
    }
}
