//! Completions of several prompts.

use super::*;

fn text(index: u32, reason: &str, behind: &str) -> String {
    data(&format!(
        r#"{{"id":"c","object":"text_completion","created":1,"model":"m","choices":[{{"index":{index},"text":"a","logprobs":null,"finish_reason":{reason}}}]{behind}}}"#
    ))
}

fn read(choices: u32, prompts: Prompts, body: &str) -> Reader {
    let request = RequestPeek { choices, prompts, ..RequestPeek::default() };
    read_as(Dialect::Completions, &request, &head(200, EVENTS), body).0
}

#[test]
fn an_answer_is_whole_when_each_choice_of_each_prompt_ended() {
    let end = |index: u32| text(index, r#""length""#, "");
    // One prompt after the other: those that have not begun are still to come.
    let body: String = (0..3).map(end).collect();
    assert!(!read(2, Prompts::Counted(2), &body).facts().all_finished);
    assert!(!read(1, Prompts::Counted(4), &body).facts().all_finished);
    let body = body + &end(3);
    for (choices, prompts) in [(2, 2), (1, 4), (4, 1)] {
        assert!(read(choices, Prompts::Counted(prompts), &body).facts().all_finished, "{choices} {prompts}");
    }
    assert!(!read(2, Prompts::Counted(3), &body).facts().all_finished);
}

#[test]
fn an_unknown_number_of_prompts_is_never_over() {
    let body = text(0, r#""stop""#, "") + &text(1, r#""stop""#, "");
    let reader = read(1, Prompts::AtLeast(2), &(body.clone() + DONE));
    let facts = reader.facts();
    assert!(!facts.all_finished && facts.terminal);
    // At a clean end of the body it is known all the same.
    assert!(facts.choices.seen_are_finished());
    assert!(!read(1, Prompts::AtLeast(1), &body).facts().all_finished);
}

#[test]
fn each_prompt_may_report_its_own_usage() {
    let end = |index: u32, input: u64| {
        text(
            index,
            r#""length""#,
            &format!(
                r#","usage":{{"prompt_tokens":{input},"completion_tokens":6,"total_tokens":{}}}"#,
                input + 6
            ),
        )
    };
    let body = end(0, 2) + &end(1, 3) + DONE;
    let expected = Usage { input: Some(5), output: Some(12), total: Some(17), ..Usage::default() };
    let reader = read(1, Prompts::Counted(2), &body);
    assert_eq!(reader.facts().usage(), Some((expected, Provenance::Reported)));
    assert!(reader.facts().all_finished);
}

/// With its timings, an engine reports each choice, and each repeats the whole prompt.
#[test]
fn each_choice_of_each_prompt_may_report_its_own_timings() {
    let end = |index: u32, prompt: u64| {
        text(
            index,
            r#""length""#,
            &format!(r#","timings":{{"cache_n":0,"prompt_n":{prompt},"predicted_n":6}}"#),
        )
    };
    let body = end(0, 2) + &end(1, 2) + &end(2, 3) + &end(3, 3) + DONE;
    let reader = read(2, Prompts::Counted(2), &body);
    let (usage, from) = reader.facts().usage().unwrap();
    assert_eq!((usage.input, usage.output, from), (Some(5), Some(24), Provenance::EngineTimings));
}

#[test]
fn other_dialects_have_one_answer_whatever_is_asked() {
    let request = RequestPeek { choices: 3, prompts: Prompts::AtLeast(9), ..RequestPeek::default() };
    let body = typed(&[
        ("content_block_delta", r#""index":0,"delta":{"type":"text_delta","text":"a"}"#),
        ("message_delta", r#""delta":{"stop_reason":"end_turn"}"#),
    ]);
    let (reader, _) = read_as(Dialect::Messages, &request, &head(200, EVENTS), &body);
    assert!(reader.facts().all_finished);
}
