//! Transcriptions of audio: OpenAI's events, and vLLM's, which are those of a chat.

use super::*;

fn delta(text: &str) -> String {
    typed(&[("transcript.text.delta", &format!(r#""delta":"{text}""#))])
}

fn done(rest: &str) -> String {
    typed(&[("transcript.text.done", &format!(r#""text":"Hi you"{rest}"#))])
}

fn read(body: &str) -> (Reader, Vec<Seen>) {
    read_as(Dialect::Transcription, &RequestPeek::default(), &head(200, EVENTS), body)
}

#[test]
fn a_whole_transcription_ends_without_a_reason() {
    let usage = r#","usage":{"type":"tokens","input_tokens":14,"input_token_details":{"text_tokens":0,"audio_tokens":14},"output_tokens":45,"total_tokens":59}"#;
    let body = delta("Hi") + &delta("") + &delta(" you") + &delta(" there") + &done(usage);
    let (reader, seen) = golden(Dialect::Transcription, EVENTS, &body);
    let (e, a) = (Seen::Event, output(0, true));
    assert_eq!(seen, [a, e, a, a, e, Seen::Terminal]);
    let facts = reader.facts();
    assert!(reader.is_stream() && facts.terminal && facts.all_finished && reasons(&reader).is_empty());
    let (usage, from) = facts.usage().unwrap();
    assert_eq!(
        (usage.input, usage.output, usage.total, from),
        (Some(14), Some(45), Some(59), Provenance::Reported)
    );
}

#[test]
fn seconds_of_audio_are_no_tokens() {
    let (reader, _) = read(&(delta("a") + &done(r#","usage":{"type":"duration","seconds":9}"#)));
    assert_eq!(reader.facts().tokens.reported, None);
    assert_eq!(reader.facts().usage().map(|(_, from)| from), Some(Provenance::CountedChunks));
}

#[test]
fn log_probabilities_count_tokens_once() {
    let two = typed(&[("transcript.text.delta", r#""delta":"ab","logprobs":[{"token":"a"},{"token":"b"}]"#)]);
    let (reader, seen) = read(&(two.repeat(2) + &done(r#","logprobs":[{"token":"a"}]"#)));
    assert_eq!(seen[..2], [output(2, true); 2]);
    assert_eq!(reader.facts().tokens.listed, 4);
}

#[test]
fn a_segment_is_output_where_no_deltas_tell_its_text() {
    let segment =
        typed(&[("transcript.text.segment", r#""id":"s","start":0.0,"end":1.5,"speaker":"A","text":"Hi""#)]);
    assert_eq!(read(&(segment.repeat(2) + &done(""))).1[..2], [output(0, true); 2]);
    assert_eq!(read(&(delta("Hi") + &segment)).1, [output(0, true), Seen::Event]);
}

#[test]
fn an_error_is_an_error_and_not_the_end() {
    let (reader, seen) = read(&(delta("a") + "data: {\"type\":\"error\",\"error\":{\"code\":\"c\"}}\n\n"));
    assert_eq!((seen, said(&reader)), (vec![output(0, true), Seen::Error], (Some("c"), None)));
    assert!(!reader.facts().all_finished);
}

#[test]
fn vllm_speaks_chunks_and_ends_each_part_of_the_audio() {
    let part = |text: &str, reason: &str| {
        let reason = if reason.is_empty() {
            String::new()
        } else {
            format!(r#","finish_reason":"{reason}","stop_reason":null"#)
        };
        format!(
            "data: {{\"id\":\"trsc-1\",\"object\":\"transcription.chunk\",\"created\":1,\"model\":\"w\",\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}{reason}}}]}}\n\n"
        )
    };
    let usage = "data: {\"id\":\"trsc-1\",\"object\":\"transcription.chunk\",\"created\":1,\"model\":\"w\",\"choices\":[],\"usage\":{\"prompt_tokens\":200,\"total_tokens\":207,\"completion_tokens\":7}}\n\n";
    let first = part(" Hi", "") + &part(" you", "") + &part("", "stop");
    let (reader, _) = read(&first);
    // More of the audio may come.
    assert!(!reader.facts().all_finished);
    let body = first + &part(" there", "") + &part(".", "stop") + usage + DONE;
    let (reader, seen) = golden(Dialect::Transcription, EVENTS, &body);
    let (e, a) = (Seen::Event, output(0, true));
    assert_eq!(seen, [a, a, e, a, a, e, Seen::Terminal]);
    assert!(reader.facts().all_finished && reader.facts().terminal);
    assert_eq!((reasons(&reader), reader.facts().usage().unwrap().0.output), (vec!["stop"], Some(7)));
}

#[test]
fn documents_tell_usage_where_there_is_one() {
    let reader = document(
        Dialect::Transcription,
        r#"{"text":"Hi","usage":{"type":"tokens","input_tokens":14,"output_tokens":2,"total_tokens":16}}"#,
    );
    assert_eq!(reader.facts().usage().unwrap().0.output, Some(2));
    let reader = document(Dialect::Transcription, r#"{"text":"Hi","usage":{"type":"duration","seconds":9}}"#);
    assert_eq!((reader.facts().usage(), reader.facts().terminal), (None, true));
}
