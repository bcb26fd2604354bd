//! The steady reader allocates nothing: neither for an event like the one before, nor for one that
//! has to be read in full. The gaps of a stream allocate at most once.

use weir_core::dialect::{Dialect, RequestPeek};
use weir_core::gaps::GapCell;
use weir_core::reader::{Reader, ResponseHead, Seen};

/// Events with this tail, and a content that is another each time.
fn events(tail: impl Fn(usize) -> String) -> Vec<String> {
    let event = |n: usize| {
        format!(
            "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\
             \"choices\":[{{\"index\":0,\"delta\":{{\"content\":\" w{n}\\n\"}},{}\n\n",
            tail(n)
        )
    };
    (0..400).map(event).collect()
}

fn allocations(dialect: Dialect, events: &[String], split: usize) -> u64 {
    let lines = matches!(dialect, Dialect::OllamaChat);
    let content_type: &[u8] = if lines { b"application/x-ndjson" } else { b"text/event-stream" };
    let head = ResponseHead { status: 200, content_type: Some(content_type), content_encoding: None };
    let text = events.concat();
    // The buffers take their size from the first events, which come byte by byte.
    let (warm_up, steady) = text.as_bytes().split_at(text.len() / 2);
    let mut reader = Reader::new(dialect, &RequestPeek::default(), &head);
    let mut chunks = 0_u64;
    let mut feed = |bytes: &[u8], split: usize| {
        for part in bytes.chunks(split) {
            reader.feed(part, &mut |seen| chunks += u64::from(matches!(seen, Seen::Output { .. })));
        }
    };
    feed(warm_up, 1);
    let info = allocation_counter::measure(|| feed(steady, split));
    assert_eq!(chunks, 400);
    info.count_total
}

#[test]
fn steady_events_allocate_nothing() {
    let plain = events(|_| "\"logprobs\":null,\"finish_reason\":null}]}".to_owned());
    let padded = events(|n| {
        format!("\"finish_reason\":null}}],\"usage\":null,\"obfuscation\":\"{}\"}}", "x".repeat(n % 17))
    });
    let running = events(|n| {
        format!("\"finish_reason\":null}}],\"usage\":{{\"prompt_tokens\":9,\"completion_tokens\":{n}}}}}")
    });
    let logprobs = events(|n| {
        format!(
            "\"logprobs\":{{\"content\":[{{\"token\":\"\\u00e9\",\"logprob\":-0.{n}}}]}},\"finish_reason\":null}}]}}"
        )
    });
    for (name, events) in [("plain", plain), ("padded", padded), ("running", running), ("logprobs", logprobs)]
    {
        for split in [1, 97, 1448, usize::MAX] {
            assert_eq!(allocations(Dialect::Chat, &events, split), 0, "{name} by {split}");
        }
    }
}

#[test]
fn steady_events_of_every_dialect_allocate_nothing() {
    type Event = fn(usize) -> String;
    let dialects: [(Dialect, Event); 6] = [
        (Dialect::Responses, |n| {
            format!(
                "event: response.output_text.delta\ndata: {{\"type\":\"response.output_text.delta\",\"sequence_number\":{n},\
                 \"item_id\":\"msg_1\",\"delta\":\" w{n}\",\"logprobs\":[],\"obfuscation\":\"{}\"}}\n\n",
                "x".repeat(n % 17)
            )
        }),
        (Dialect::Messages, |n| {
            format!(
                "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\
                 \"delta\":{{\"type\":\"text_delta\",\"text\":\" w{n}\"}}{}}}\n\n",
                " ".repeat(n % 17)
            )
        }),
        (Dialect::OllamaChat, |n| {
            format!(
                "{{\"model\":\"m\",\"created_at\":\"2025-08-14T14:53:06.{n}Z\",\
                 \"message\":{{\"role\":\"assistant\",\"content\":\" w{n}\"}},\"done\":false}}\n"
            )
        }),
        (Dialect::TgiGenerate, |n| {
            format!(
                "data:{{\"index\":{n},\"token\":{{\"id\":{n},\"text\":\" w{n}\",\"logprob\":-0.{n},\"special\":false}},\
                 \"generated_text\":null,\"details\":null}}\n\n"
            )
        }),
        // Under the same path, SGLang.
        (Dialect::TgiGenerate, |n| {
            format!(
                "data: {{\"text\":\"{}\",\"meta_info\":{{\"finish_reason\":null,\"prompt_tokens\":9,\
                 \"completion_tokens\":{}}}}}\n\n",
                "w".repeat(n),
                n + 1
            )
        }),
        (Dialect::Transcription, |n| {
            format!(
                "event: transcript.text.delta\ndata: {{\"type\":\"transcript.text.delta\",\"delta\":\" w{n}\"}}\n\n"
            )
        }),
    ];
    for (dialect, event) in dialects {
        let events: Vec<_> = (0..400).map(event).collect();
        for split in [97, usize::MAX] {
            assert_eq!(allocations(dialect, &events, split), 0, "{dialect:?} by {split}");
        }
    }
}

#[test]
fn gaps_allocate_once_a_stream_and_only_where_a_chunk_carries_more_than_one_token() {
    let cell = GapCell::default();
    let add = |tokens| (1..10_000).for_each(|n| cell.add(n * 977, tokens));
    assert_eq!(allocation_counter::measure(|| add(1)).count_total, 0);
    assert_eq!(allocation_counter::measure(|| add(4)).count_total, 1);
    assert_eq!(allocation_counter::measure(|| [1, 4].into_iter().for_each(add)).count_total, 0);
}
