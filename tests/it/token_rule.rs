//! The rule by which vLLM's bench tells tokens, over the wire.

use weir_core::reader::TokenRule;
use weir_core::timeline::Mark;

use crate::harness::Play;
use crate::harness::sse::{DONE, content, finish, role, usage};

/// The chunk that ends an answer as some engines write it.
fn last() -> String {
    finish("stop").replace("\"delta\":{}", "\"delta\":{\"content\":\"\"}")
}

#[tokio::test]
async fn the_first_and_the_last_token_follow_the_rule() {
    // The first token has no text yet, and the last event of the answer none any more.
    let parts = [role(), content(""), content("a"), content("b"), last(), usage(9, 4), DONE.to_owned()];
    let played = Play::chat().parts(&parts).await;
    played.came_with(&[2, 3]);
    let by_vllm = |setup: &mut crate::harness::rig::Setup| setup.config.watch.token_rule = TokenRule::Vllm;
    let played = Play::chat().with(&parts, by_vllm).await;
    played.came_with(&[1, 2, 3, 4]);
    played.mark_came_with(Mark::FirstAnswer, 1);
    assert_eq!((played.verdict(), played.tokens()), (("completed", None), Some((4, "reported"))));
    // TPOT is the span between these two over the steps.
    let span = played.record.timeline.between(Mark::FirstToken, Mark::LastToken).unwrap();
    assert!((played.record.tpot().unwrap() - span.as_secs_f64() / 3.0).abs() < 1e-12);
}

#[tokio::test]
async fn a_stream_of_reasoning_content_alone_has_no_token_by_it() {
    let thought = content("a").replace("\"content\"", "\"reasoning_content\"");
    let parts = [role(), thought, finish("stop"), DONE.to_owned()];
    let by_vllm = |setup: &mut crate::harness::rig::Setup| setup.config.watch.token_rule = TokenRule::Vllm;
    let played = Play::chat().with(&parts, by_vllm).await;
    played.lacks(Mark::FirstToken);
    assert_eq!(played.verdict(), ("completed", Some("empty_stream")));
    assert_eq!(Play::chat().parts(&parts).await.verdict(), ("completed", None));
}
