//! Embeddings and reranking: one document, in which only the prompt is counted.

use super::*;

fn usage(dialect: Dialect, body: &str) -> Option<Usage> {
    let reader = document(dialect, body);
    assert!(!reader.is_stream() && reader.facts().terminal && reader.facts().error.is_none());
    reader.facts().usage().map(|(usage, from)| {
        assert_eq!(from, Provenance::Reported);
        usage
    })
}

#[test]
fn ollama_counts_the_prompt_of_an_embedding() {
    let body = r#"{"model":"e","embeddings":[[0.1,-2e-3]],"total_duration":14143917,"load_duration":1019500,"prompt_eval_count":8}"#;
    let expected = Usage { input: Some(8), ..Usage::default() };
    assert_eq!(usage(Dialect::Embeddings, body), Some(expected));
}

#[test]
fn a_reranking_counts_as_its_vendor_does() {
    let results = r#""results":[{"index":0,"relevance_score":0.9}]"#;
    let of = |rest: &str| usage(Dialect::Rerank, &format!("{{\"model\":\"r\",{results},{rest}}}"));
    let both = Usage { input: Some(56), total: Some(56), ..Usage::default() };
    assert_eq!(of(r#""usage":{"prompt_tokens":56,"total_tokens":56}"#), Some(both));
    let total = Usage { total: Some(56), ..Usage::default() };
    assert_eq!(of(r#""usage":{"total_tokens":56}"#), Some(total));
    let input = Usage { input: Some(50), ..Usage::default() };
    assert_eq!(
        of(r#""meta":{"api_version":{"version":"2"},"billed_units":{"input_tokens":50,"search_units":1}}"#),
        Some(input)
    );
    let counted = Usage { input: Some(51), output: Some(0), ..Usage::default() };
    let meta =
        r#""meta":{"billed_units":{"input_tokens":50},"tokens":{"input_tokens":51,"output_tokens":0}}"#;
    assert_eq!(of(meta), Some(counted));
    assert_eq!(of(r#""meta":{"billed_units":{"search_units":1}}"#), None);
}
