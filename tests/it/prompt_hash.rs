//! Prompts are told apart by a keyed hash, where that is asked for.

use weir_core::prompt_hash::PromptKey;

use crate::harness::Play;
use crate::harness::rig::Setup;
use crate::harness::sse::{DONE, content, finish, role};

/// The hash of a prompt under a key.
async fn hash(key: Option<&'static str>, prompt: &str) -> Option<Box<str>> {
    let parts = [role(), content("a"), finish("stop"), DONE.to_owned()];
    let keyed = |setup: &mut Setup| setup.config.context.prompt_key = key.map(PromptKey::new);
    let body =
        format!(r#"{{"model":"m","stream":true,"messages":[{{"role":"user","content":"{prompt}"}}]}}"#);
    let played = Play::post("/v1/chat/completions", &body).with(&parts, keyed).await;
    played.record.request.prompt_hash
}

#[tokio::test]
async fn a_prompt_has_a_hash_only_where_one_is_asked_for() {
    assert_eq!(hash(None, "hello").await, None);
    let one = hash(Some("k"), "hello").await.unwrap();
    assert_eq!(hash(Some("k"), "hello").await.as_ref(), Some(&one));
    assert_ne!(hash(Some("k"), "hallo").await.unwrap(), one);
    assert_ne!(hash(Some("l"), "hello").await.unwrap(), one);
}
