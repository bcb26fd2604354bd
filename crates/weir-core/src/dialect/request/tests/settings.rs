use super::*;
use crate::setting::SettingName::{self, *};

fn settings(path: &str, body: &str) -> Vec<(SettingName, String)> {
    let found = peek(path, body).settings;
    found.into_iter().map(|setting| (setting.name, setting.value.into())).collect()
}

#[test]
fn each_dialect_says_how_to_generate_in_its_own_words() {
    let is = |name: SettingName, value: &str| (name, value.to_owned());
    let chat = r#"{"temperature":0.7,"top_p":1,"max_tokens":9,"max_completion_tokens":20,"seed":-3,
        "stop":["a","b"],"service_tier":"flex","response_format":{"type":"json_schema","json_schema":{"type":"x"}}}"#;
    let expected = [
        is(Temperature, "0.7"),
        is(TopP, "1"),
        is(MaxTokens, "20"),
        is(Seed, "-3"),
        is(Stop, r#"["a","b"]"#),
        is(ServiceTier, r#""flex""#),
        is(ResponseFormat, r#""json_schema""#),
    ];
    assert_eq!(settings("/v1/chat/completions", chat), expected);
    let responses = r#"{"max_output_tokens":5,"reasoning":{"effort":"low"}}"#;
    let expected = [is(MaxTokens, "5"), is(ReasoningEffort, r#""low""#)];
    assert_eq!(settings("/v1/responses", responses), expected);
    let ollama = r#"{"options":{"num_predict":7,"top_k":40,"num_ctx":4096}}"#;
    assert_eq!(settings("/api/chat", ollama), [is(MaxTokens, "7"), is(TopK, "40")]);
    let tgi = r#"{"inputs":"x","parameters":{"max_new_tokens":8}}"#;
    assert_eq!(settings("/generate", tgi), [is(MaxTokens, "8")]);
}

#[test]
fn what_is_null_or_long_or_of_another_kind_is_not_told() {
    let long = format!(r#"{{"stop":"{}","temperature":null,"seed":true,"top_p":{{}}}}"#, "x".repeat(300));
    assert_eq!(settings("/v1/chat/completions", &long), []);
    assert_eq!(settings("/v1/chat/completions", r#"{"messages":[{"temperature":1}]}"#), []);
}

#[test]
fn a_body_may_name_its_user_and_its_conversation() {
    let caller = |path: &str, body: &str| {
        let caller = peek(path, body).caller;
        (caller.user.map(String::from), caller.session.map(String::from))
    };
    let named = |user: Option<&str>, session: Option<&str>| (user.map(Into::into), session.map(Into::into));
    let chat = "/v1/chat/completions";
    assert_eq!(caller(chat, r#"{"user":"u\u00e9"}"#), named(Some("ué"), None));
    assert_eq!(
        caller(chat, r#"{"safety_identifier":"s","metadata":{"user_id":"m"}}"#),
        named(Some("s"), None)
    );
    assert_eq!(caller("/v1/messages", r#"{"metadata":{"user_id":"m"}}"#), named(Some("m"), None));
    assert_eq!(caller("/v1/responses", r#"{"conversation":"conv_1"}"#), named(None, Some("conv_1")));
    assert_eq!(caller("/v1/responses", r#"{"conversation":{"id":"conv_2"}}"#), named(None, Some("conv_2")));
    let long = format!(r#"{{"user":"{}","conversation":""}}"#, "u".repeat(201));
    assert_eq!(caller(chat, &long), named(None, None));
}
