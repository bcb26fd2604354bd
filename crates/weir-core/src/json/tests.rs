use proptest::prelude::*;
use serde_json::Value;

use super::skim::Skim;
use super::walk::{Kind, Walker};
use super::{text, text_cut};

fn accepts(json: &[u8]) -> bool {
    let mut walker = Walker::new(json);
    walker.skip();
    walker.finished()
}

#[test]
fn accepts_what_the_grammar_accepts() {
    for good in [
        "null",
        " true ",
        "-0",
        "0.5e+3",
        "1E9",
        "[]",
        "{}",
        "[ 1 , 2 ]",
        r#"{"a":{"b":[{}]}}"#,
        r#""\"\\\u00e9""#,
        "\"\u{2028}\"",
    ] {
        assert!(accepts(good.as_bytes()), "{good}");
        assert!(serde_json::from_str::<Value>(good).is_ok(), "{good}");
    }
    for bad in [
        "",
        "nul",
        "01",
        "1.",
        "-",
        "1e",
        "+1",
        "[1,]",
        "[,]",
        "[1 2]",
        "{,}",
        r#"{"a"}"#,
        r#"{"a":}"#,
        r#"{"a":1,}"#,
        "{1:2}",
        r#"{"choices":[{"ind"#,
        "\"abc",
        "{}{}",
        "'a'",
        "]",
    ] {
        assert!(!accepts(bad.as_bytes()), "{bad}");
        assert!(serde_json::from_str::<Value>(bad).is_err(), "{bad}");
    }
    assert!(accepts(b"\"\xff\""), "bytes need not be UTF-8");
}

#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(accepts(nested(128).as_bytes()));
    assert!(!accepts(nested(129).as_bytes()));
    assert!(!accepts("[".repeat(1_000_000).as_bytes()));
}

#[test]
fn values_are_read_by_kind_and_passed_over_otherwise() {
    let mut walker = Walker::new(br#"["s",5,-5,5.0,18446744073709551616,true,null,{"k":0},[1],""]"#);
    let mut log = Vec::new();
    walker.array(|walker| log.push((walker.peek(), walker.unsigned())));
    assert_eq!(log[1], (Kind::Number, Some(5)));
    assert!(log.iter().enumerate().all(|(at, (_, number))| at == 1 || number.is_none()));
    let truthy = |json: &str| Walker::new(json.as_bytes()).truthy();
    for empty in ["null", "false", "0", r#""""#, "{ }", "[ ]"] {
        assert!(!truthy(empty), "{empty}");
    }
    for full in ["true", "1", r#"" ""#, r#"{"a":0}"#, "[0]"] {
        assert!(truthy(full), "{full}");
    }
}

#[test]
fn text_is_bounded_and_never_half_a_name() {
    assert_eq!(text(br#""a\u00e9\/""#, 4).as_deref(), Some("a\u{e9}/"));
    assert_eq!(text(br#""abcde""#, 4), None);
    assert_eq!(text(b"5", 4), None);
    assert_eq!(&*text_cut("\"ab\u{e9}\"".as_bytes(), 3), "ab");
    assert_eq!(&*text_cut(b"400", 9), "400");
}

fn skim(json: &str, size: usize) -> Skim {
    let mut skim = Skim::new(&["model", "n", "usage"], Some("finish_reason"));
    json.as_bytes().chunks(size).for_each(|part| skim.feed(part));
    skim
}

#[test]
fn skim_finds_outer_keys_and_one_key_anywhere() {
    let json = r#" { "x": {"model": "inner", "n": [1, "n", {"n": 2}]}, "model" : "a\"}b",
        "choices": [{"finish_reason": "stop"}, {"finish_reason":null }, {"a": {"finish_reason" :"length"}}],
        "n": 3 , "usage": { "finish_reason": "no", "p": [1, {}] } , "s": "model" } trailing {"n": 9}"#;
    for size in [1, 2, 7, 4096] {
        let skim = skim(json, size);
        assert_eq!(skim.value("model"), Some(br#""a\"}b""#.as_slice()));
        assert_eq!(skim.value("n"), Some(b"3".as_slice()));
        assert_eq!(skim.value("usage"), Some(br#"{ "finish_reason": "no", "p": [1, {}] }"#.as_slice()));
        assert_eq!(skim.found().collect::<Vec<_>>(), [br#""stop""#.as_slice(), b"null", br#""length""#]);
        assert!(skim.is_complete());
    }
}

#[test]
fn skim_bounds_values_and_lets_the_last_win() {
    let long = "x".repeat(10_000);
    let json = format!(r#"{{"model":"a","model":"{long}","n":1,"n":2,"usage":{{"a":"{long}"}}}}"#);
    let skim = skim(&json, 64);
    assert_eq!(skim.value("model"), None);
    assert_eq!(skim.value("n"), Some(b"2".as_slice()));
    assert_eq!(skim.value("usage"), None);
}

#[test]
fn skim_gives_what_it_met_of_a_broken_document() {
    for (json, n) in [
        (r#"{"n":1,"#, Some(b"1".as_slice())),
        (r#"{"n":1"#, None),
        ("<html>\"n\":1,", None),
        (r#"}}]]{"n":1}"#, None),
        ("[1,2]", None),
        ("", None),
    ] {
        assert_eq!(skim(json, 1).value("n"), n, "{json}");
    }
    assert!(!skim(r#"{"n":1,"#, 3).is_complete());
    assert!(skim("\n\n [1] ", 1).is_complete());
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        "[ -~\u{e9}\n\"\\\\]{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let key = prop_oneof![Just("n".to_owned()), Just("model".to_owned()), "[a-z\"\\\\]{0,3}"];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((key, inner), 0..5)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn walker_judges_as_serde_does(json in value(), at in any::<prop::sample::Index>(), byte in any::<u8>(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&json) } else { serde_json::to_string(&json) };
        let mut bytes = text.unwrap().into_bytes();
        prop_assert!(accepts(&bytes));
        let at = at.index(bytes.len());
        bytes[at] = byte & 0x7f;
        // The two liberties: control characters in strings, and unknown escapes.
        if byte & 0x7f >= 0x20 && !bytes.contains(&b'\\') {
            let valid = serde_json::from_slice::<serde::de::IgnoredAny>(&bytes).is_ok();
            prop_assert_eq!(accepts(&bytes), valid);
        }
    }

    #[test]
    fn skim_finds_what_serde_finds(json in value(), size in 1_usize..30, pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&json) } else { serde_json::to_string(&json) };
        let text = text.unwrap();
        let skim = skim(&text, size);
        // Not all floats come back from text as they were.
        let json: Value = serde_json::from_str(&text).unwrap();
        for key in ["n", "model"] {
            let found = skim.value(key).map(|raw| serde_json::from_slice::<Value>(raw).unwrap());
            prop_assert_eq!(found.as_ref(), json.get(key));
        }
        prop_assert_eq!(skim.is_complete(), json.is_object() || json.is_array());
    }
}
