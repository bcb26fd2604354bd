//! Data sets, each read from a file written by its format's rules, or made up.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::NamedTempFile;
use weir_load::bench::ask::{Ask, Leave, Message, Prompt, Turn};
use weir_load::bench::dataset::{
    Conversation, ConversationSource, Custom, Dataset, PrefixRepetition, Random, Record, Recorded, Sampling,
    ShareGpt, Trace, TraceFormat,
};

const IN_ORDER: Sampling = Sampling { shuffle: false, oversample: false };

fn file(text: impl AsRef<[u8]>) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(text.as_ref()).unwrap();
    file
}

fn asks(dataset: &Dataset, seed: u64, count: Option<u64>) -> Vec<Ask> {
    dataset.asks(seed, count).unwrap().map(|ask| ask.unwrap()).collect()
}

/// What is said of a broken data set, without the folder of its file.
fn complaint(dataset: &Dataset, path: &Path) -> String {
    let says = match dataset.asks(1, Some(100)) {
        Err(error) => error.to_string(),
        Ok(asks) => asks.filter_map(Result::err).map(|error| error.to_string()).collect(),
    };
    says.replace(path.to_str().unwrap(), "FILE").split("; allowed").next().unwrap().to_owned()
}

fn text(ask: &Ask) -> &str {
    match &ask.prompt {
        Prompt::Text(text) => text,
        Prompt::Messages(messages) => panic!("messages: {messages:?}"),
    }
}

fn words(ask: &Ask) -> Vec<&str> {
    text(ask).split(' ').collect()
}

fn sharegpt(path: &Path, output_len: Option<u32>, sampling: Sampling) -> Dataset {
    Dataset::ShareGpt(ShareGpt { path: path.to_owned(), output_len, sampling })
}

#[test]
fn sharegpt_keeps_what_vllm_keeps() {
    let entry = |turns: &[String]| {
        let turns: Vec<_> =
            turns.iter().map(|turn| serde_json::json!({"from": "human", "value": turn})).collect();
        serde_json::json!({"id": "x", "conversations": turns})
    };
    let long = |tokens: usize| "é".repeat(tokens * 4);
    let entries = serde_json::json!([
        entry(&["What is the tide?".into(), "It is the sea's rise and fall.".into(), "And?".into()]),
        entry(&["Only one turn here.".into()]),
        {"id": "no conversation"},
        entry(&[long(3), long(10)]),
        entry(&[long(4), long(3)]),
        entry(&[long(1025), long(4)]),
        entry(&[long(1024), long(1025)]),
        entry(&[long(1024), long(1024)]),
    ]);
    let file = file(serde_json::to_string_pretty(&entries).unwrap());
    let found = asks(&sharegpt(file.path(), None, IN_ORDER), 1, None);
    assert_eq!(found.len(), 2);
    // 30 characters are 8 tokens.
    assert_eq!(found[0], Ask { output_tokens: Some(8), ..Ask::new("What is the tide?") });
    assert_eq!((text(&found[1]), found[1].output_tokens), (&*long(1024), Some(1024)));
    // A set length lifts the rule for short answers, and the sum is reckoned with it.
    let found = asks(&sharegpt(file.path(), Some(100), IN_ORDER), 1, None);
    let lengths: Vec<usize> = found.iter().map(|ask| text(ask).chars().count()).collect();
    assert_eq!(lengths, [17, 16, 4096, 4096]);
    assert!(found.iter().all(|ask| ask.output_tokens == Some(100) && ask.input_tokens.is_none()));
}

#[test]
fn sharegpt_is_shuffled_by_seed_and_oversampled() {
    let value = |nth: usize| format!("{{\"value\": \"question number {nth}\"}}");
    let entry = |nth| format!("{{\"conversations\": [{}, {}]}}", value(nth), value(nth));
    let file = file(format!("[{}]", (0..50).map(entry).collect::<Vec<_>>().join(",\n")));
    let set = sharegpt(file.path(), None, Sampling::default());
    let (all, again) = (asks(&set, 1, None), asks(&set, 1, None));
    assert_eq!((all.len(), &all), (50, &again));
    assert_ne!(all, asks(&set, 2, None));
    assert_eq!(asks(&set, 1, Some(5)), all[..5]);
    let more = asks(&set, 1, Some(120));
    assert_eq!((more.len(), &more[..50]), (120, &all[..]));
    assert!(more[50..].iter().all(|ask| all.contains(ask)));
}

#[test]
fn custom_lines_are_prompts_or_messages() {
    let file = file(concat!(
        "{\"prompt\": \"a\", \"output_tokens\": 7}\n\n",
        "{\"prompt\": \"b\", \"output_len\": 8, \"tag\": [1]}\n",
        "{\"messages\": [{\"role\": \"system\", \"content\": \"s\"}, {\"role\": \"user\", \"content\": \"u\"}]}"
    ));
    let set =
        |output_len| Dataset::Custom(Custom { path: file.path().to_owned(), output_len, sampling: IN_ORDER });
    let message = |role: &str, content: &str| Message { role: role.to_owned(), content: content.to_owned() };
    let expected = [
        Ask { output_tokens: Some(7), ..Ask::new("a") },
        Ask { output_tokens: Some(8), ..Ask::new("b") },
        Ask { prompt: Prompt::Messages(vec![message("system", "s"), message("user", "u")]), ..Ask::new("") },
    ];
    assert_eq!(asks(&set(None), 1, Some(9)), expected);
    assert!(asks(&set(Some(3)), 1, None).iter().all(|ask| ask.output_tokens == Some(3)));
}

#[test]
fn random_lengths_stay_in_their_range() {
    let set = Dataset::Random(Random {
        input_len: 101,
        output_len: 3,
        input_range_ratio: 0.1,
        output_range_ratio: 0.9,
        prefix_len: 10,
    });
    let found = asks(&set, 7, Some(2000));
    assert_eq!(found, asks(&set, 7, Some(2000)));
    let prefix: Vec<&str> = words(&found[0])[..10].to_vec();
    for ask in &found {
        assert_eq!(words(ask).len() as u32, ask.input_tokens.unwrap());
        assert_eq!(words(ask)[..10], prefix);
    }
    // ⌊101 · 0.9⌋ = 90 to ⌈101 · 1.1⌉ = 112, and the prefix; ⌊0.3⌋ is raised to 1, ⌈5.7⌉ = 6.
    let inputs: BTreeSet<u32> = found.iter().filter_map(|ask| ask.input_tokens).collect();
    assert_eq!(inputs, (100..=122).collect());
    let outputs: BTreeSet<u32> = found.iter().filter_map(|ask| ask.output_tokens).collect();
    assert_eq!(outputs, (1..=6).collect());
    let default = asks(&Dataset::Random(Random::default()), 7, Some(2));
    assert!(default.iter().all(|ask| (ask.input_tokens, ask.output_tokens) == (Some(1024), Some(128))));
    assert_ne!(words(&default[0])[..8], words(&default[1])[..8]);
}

#[test]
fn prefixes_repeat_equally_often() {
    let set = PrefixRepetition { prefix_len: 20, suffix_len: 5, num_prefixes: 4, output_len: 9 };
    let found = asks(&Dataset::PrefixRepetition(set.clone()), 3, Some(40));
    let prefixes: Vec<String> = found.iter().map(|ask| words(ask)[..20].join(" ")).collect();
    let kinds: BTreeSet<&String> = prefixes.iter().collect();
    assert_eq!(kinds.len(), 4);
    assert!(kinds.iter().all(|kind| prefixes.iter().filter(|prefix| prefix == kind).count() == 10));
    assert_eq!(found.iter().map(|ask| words(ask)[20..].join(" ")).collect::<BTreeSet<_>>().len(), 40);
    assert!(found.iter().all(|ask| (ask.input_tokens, ask.output_tokens) == (Some(25), Some(9))));
    let endless = Dataset::PrefixRepetition(set).asks(3, None).unwrap();
    assert_eq!(endless.take(1000).filter(Result::is_ok).count(), 1000);
}

#[test]
fn conversations_grow_turn_by_turn() {
    let file = file(concat!(
        "{\"messages\": [{\"role\": \"system\", \"content\": \"s\"}, {\"role\": \"user\", \"content\": \"a\"}, ",
        "{\"role\": \"assistant\", \"content\": \"A\"}, {\"role\": \"user\", \"content\": \"b\"}]}\n",
        "{\"messages\": [{\"role\": \"user\", \"content\": \"c\"}, {\"role\": \"assistant\", \"content\": \"C\"}]}\n"
    ));
    let pause = Duration::from_secs(2);
    let source = ConversationSource::File(file.path().to_owned());
    let set = Dataset::Conversation(Conversation { source, pause, output_len: Some(5) });
    let seen: Vec<(String, Option<Turn>)> = asks(&set, 1, None)
        .into_iter()
        .map(|ask| {
            let Prompt::Messages(messages) = ask.prompt else { panic!("a text") };
            let text = messages.iter().map(|message| format!("{}:{} ", &message.role[..1], message.content));
            (text.collect(), ask.turn)
        })
        .collect();
    let turn = |conversation, nth, pause| Some(Turn { conversation, nth, pause });
    let expected = [
        ("s:s u:a ".to_owned(), turn(0, 0, Duration::ZERO)),
        ("s:s u:a a:A u:b ".to_owned(), turn(0, 1, pause)),
        ("u:c ".to_owned(), turn(1, 0, Duration::ZERO)),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn made_up_conversations_share_a_system_prompt() {
    let source = ConversationSource::Synthetic { turns: 3, input_len: 10, system_len: 50 };
    let set = Conversation { source, pause: Duration::ZERO, output_len: Some(20) };
    let found = asks(&Dataset::Conversation(set), 1, Some(7));
    let lengths: Vec<Option<u32>> = found.iter().map(|ask| ask.input_tokens).collect();
    let expected = [60, 90, 120, 60, 90, 120, 60].map(Some);
    assert_eq!(lengths, expected);
    let messages = |nth: usize| match &found[nth].prompt {
        Prompt::Messages(messages) => messages.clone(),
        Prompt::Text(text) => panic!("a text: {text}"),
    };
    assert_eq!(messages(0)[0], messages(3)[0]);
    assert_ne!(messages(0)[1], messages(3)[1]);
    assert_eq!(messages(2)[..4], messages(1));
    let counted: usize = messages(2).iter().map(|message| message.content.split(' ').count()).sum();
    assert_eq!(counted, 120);
}

fn trace(path: &Path, format: TraceFormat, time_scale: f64, start_s: u64) -> Dataset {
    Dataset::Trace(Trace { path: path.to_owned(), format, time_scale, start: Duration::from_secs(start_s) })
}

#[test]
fn mooncake_blocks_are_the_same_text() {
    let file = file(concat!(
        "{\"timestamp\": 27482, \"input_length\": 1100, \"output_length\": 52, \"hash_ids\": [46, 47, 48]}\n",
        "{\"timestamp\": 30482.5, \"input_length\": 1024, \"output_length\": 3, \"hash_ids\": [46, 49]}\n",
        "{\"timestamp\": 37482, \"input_length\": 600, \"output_length\": 4, \"hash_ids\": [47]}\n"
    ));
    let found = asks(&trace(file.path(), TraceFormat::Mooncake, 0.5, 0), 1, None);
    let times: Vec<u128> = found.iter().map(|ask| ask.at.unwrap().as_micros()).collect();
    assert_eq!(times, [0, 1_500_250, 5_000_000]);
    let lengths: Vec<_> = found.iter().map(|ask| (ask.input_tokens, ask.output_tokens)).collect();
    assert_eq!(lengths, [(Some(1100), Some(52)), (Some(1024), Some(3)), (Some(600), Some(4))]);
    let (first, second, third) = (words(&found[0]), words(&found[1]), words(&found[2]));
    assert_eq!((first.len(), second.len(), third.len()), (1100, 1024, 600));
    assert_eq!(first[..512], second[..512]);
    assert_ne!(first[512..1024], second[512..]);
    assert_eq!(first[512..1024], third[..512]);
    // Passing over 5 s of the trace, the run begins there.
    let found = asks(&trace(file.path(), TraceFormat::Mooncake, 1.0, 5), 1, None);
    assert_eq!(found.iter().map(|ask| ask.at.unwrap().as_millis()).collect::<Vec<_>>(), [5000]);
}

#[test]
fn burstgpt_rows_are_asked_at_their_times() {
    let head = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n";
    let rows = concat!(
        "5,ChatGPT,472,18,490,Conversation log\r\n",
        "45,GPT-4,10,230.0,240,API log\n",
        "118,ChatGPT,417,0,417,Conversation log\n",
        "120.5,GPT-4,3,4,7,API log\n"
    );
    let simple = file(format!("{head}{rows}"));
    let format = |model: Option<&str>| TraceFormat::BurstGpt { model: model.map(str::to_owned) };
    let seen = |path: &Path, model| -> Vec<(f64, u32, u32)> {
        let found = asks(&trace(path, format(model), 2.0, 0), 1, None);
        let seen = found.iter().map(|ask| {
            assert_eq!((words(ask).len() as u32, &ask.model), (ask.input_tokens.unwrap(), &None));
            (ask.at.unwrap().as_secs_f64(), ask.input_tokens.unwrap(), ask.output_tokens.unwrap())
        });
        seen.collect()
    };
    assert_eq!(seen(simple.path(), None), [(0.0, 472, 18), (80.0, 10, 230), (231.0, 3, 4)]);
    assert_eq!(seen(simple.path(), Some("GPT-4")), [(0.0, 10, 230), (151.0, 3, 4)]);
    let later = file("Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens\n1,s,2,M,3,4\n");
    assert_eq!(seen(later.path(), None), [(0.0, 3, 4)]);
}

#[test]
fn records_are_replayed_in_the_order_of_their_arrivals() {
    let entry = |at_ms, input_tokens| Recorded {
        at: Duration::from_millis(at_ms),
        input_tokens,
        output_tokens: Some(9),
        stream: true,
        model: None,
        left_after: None,
        left_after_output: None,
    };
    let second = Duration::from_secs(1);
    let entries = vec![
        Recorded { left_after: Some(second), left_after_output: Some(4), ..entry(900, Some(30)) },
        Recorded { model: Some("m".to_owned()), stream: false, ..entry(500, Some(10)) },
        Recorded { left_after: Some(second), output_tokens: None, ..entry(700, None) },
    ];
    let found = asks(&Dataset::Record(Record { entries, time_scale: 0.1 }), 1, None);
    assert_eq!(found.iter().map(|ask| ask.at.unwrap().as_millis()).collect::<Vec<_>>(), [0, 20, 40]);
    // The unknown length is the median of 10 and 30: the upper one.
    assert_eq!(found.iter().map(|ask| words(ask).len()).collect::<Vec<_>>(), [10, 30, 30]);
    assert_eq!(found[1].input_tokens, None);
    let leaves: Vec<_> = found.iter().map(|ask| ask.leave).collect();
    assert_eq!(leaves, [None, Some(Leave::After(second)), Some(Leave::AfterOutput(4))]);
    assert_eq!((found[0].model.as_deref(), found[0].stream, found[1].stream), (Some("m"), false, true));
}

type Reader = fn(&Path) -> Dataset;

const READERS: [Reader; 5] = [
    |path| sharegpt(path, None, Sampling::default()),
    |path| Dataset::Custom(Custom { path: path.to_owned(), output_len: None, sampling: IN_ORDER }),
    |path| {
        let source = ConversationSource::File(path.to_owned());
        Dataset::Conversation(Conversation { source, pause: Duration::ZERO, output_len: None })
    },
    |path| trace(path, TraceFormat::Mooncake, 1.0, 0),
    |path| trace(path, TraceFormat::BurstGpt { model: None }, 1.0, 0),
];

#[test]
fn mistakes_are_told_with_their_place() {
    let [share, custom, talk, mooncake, burst] = READERS;
    let line = "{\"timestamp\": 5, \"input_length\": 1, \"output_length\": 1}\n";
    let earlier = format!("{line}{}", line.replace('5', "4"));
    let cases: [(Reader, &str, &str); 17] = [
        (share, "{}", "FILE:1:1: no array begins here"),
        (
            share,
            "[\n {\"conversations\": [{\"value\": 3}]}]",
            "FILE:2:31: invalid type: integer `3`, expected a string",
        ),
        (share, "[\n {\"conversations\": [{}, {}]}]", "FILE:2:2: a turn without `value`"),
        (share, "[]", "FILE: no conversation of two turns fits"),
        (custom, "{\"prompt\": \"a\"}\n{\"text\": 1}", "FILE:2: neither `prompt` nor `messages`"),
        (custom, "{\"prompt\": \"a\", \"output_len\": 0}", "FILE:1: an answer of 0 tokens"),
        (custom, "\n\n{\"prompt\": \"a\"", "FILE:3:14: not JSON: EOF while parsing an object"),
        (custom, "\n", "FILE: no line with a prompt"),
        (
            talk,
            "{\"messages\": [{\"role\": \"assistant\", \"content\": \"\"}]}",
            "FILE:1: a message out of turn",
        ),
        (talk, "{\"messages\": []}", "FILE:1: no question of the user"),
        (mooncake, "{\"timestamp\": 5}", "FILE:1:16: missing field `input_length`"),
        (mooncake, &earlier, "FILE:2: earlier than the entry before it"),
        (
            mooncake,
            "{\"timestamp\": -5, \"input_length\": 1, \"output_length\": 1}",
            "FILE:1: a time or a length out of range",
        ),
        (burst, "", "FILE:1: no head"),
        (burst, "Timestamp,Model\n", "FILE:1: no column `Request tokens`"),
        (
            burst,
            "Timestamp,Request tokens,Response tokens\n1,2,3\n1,-2,3",
            "FILE:3: `Request tokens` is `-2`",
        ),
        (burst, "Timestamp,Request tokens,Response tokens\nsoon,2,3", "FILE:2: `Timestamp` is `soon`"),
    ];
    for (reader, text, says) in cases {
        let file = file(text);
        assert_eq!(complaint(&reader(file.path()), file.path()), says, "{text}");
    }
    let absent = PathBuf::from("/nowhere/data.json");
    for reader in READERS {
        assert!(complaint(&reader(&absent), &absent).starts_with("FILE: cannot read: "));
    }
}

#[test]
fn settings_out_of_range_are_refused() {
    let random = Random { input_range_ratio: 1.0, ..Random::default() };
    let empty = Random { input_len: 0, ..Random::default() };
    let record = Record { entries: Vec::new(), time_scale: 0.0 };
    let none = PrefixRepetition { num_prefixes: 0, ..PrefixRepetition::default() };
    let cases = [
        (Dataset::Random(random), "random range ratio: allowed: 0 to below 1"),
        (Dataset::Random(empty), "random input length: allowed: at least 1 token with its prefix"),
        (Dataset::Record(record), "time scale: allowed: a number above 0"),
        (Dataset::PrefixRepetition(none), "number of prefixes: allowed: 1 to 65536"),
    ];
    for (dataset, says) in cases {
        assert_eq!(dataset.asks(1, Some(1)).unwrap_err().to_string(), says);
    }
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(200))]

    /// Garbage, and formats cut into pieces and put together again.
    #[test]
    fn garbage_ends_in_at_most_one_error(
        bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..60),
        pieces in proptest::collection::vec(0_usize..12, 0..30),
    ) {
        const PIECES: [&str; 12] = [
            "[", "]", "{\"conversations\":[{\"value\":\"long enough a text\"},", "{\"value\":\"an answer of it\"}", "}",
            "{\"prompt\":\"\"", ",", "\n", "{\"messages\":[{\"role\":\"user\",\"content\":\"\\ud800", "\"",
            "Timestamp,Request tokens,Response tokens\n1e99,2,3",
            "{\"timestamp\":1e308,\"input_length\":9,\"output_length\":1,\"hash_ids\":[1]}",
        ];
        let mut mixed = String::new();
        pieces.iter().for_each(|piece| write!(mixed, "{}", PIECES[*piece]).unwrap());
        for file in [file(&bytes), file(mixed)] {
            for reader in READERS {
                if let Ok(asks) = reader(file.path()).asks(1, Some(50)) {
                    let found: Vec<_> = asks.collect();
                    assert!(found.iter().rev().skip(1).all(Result::is_ok));
                }
            }
        }
    }
}
