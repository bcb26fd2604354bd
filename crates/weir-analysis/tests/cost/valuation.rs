//! What one exchange costs.

use serde_json::{Value, json};
use weir_analysis::cost::{CostParts, Costs, NanoUsd, PriceOverride, Source, Valuation};

use crate::fixture::{book, costs, exchange, from, record};

fn priced(model: &str, usage: Value) -> Valuation {
    costs(book()).value(&exchange(model, usage))
}

fn nano(amount: u64) -> Option<NanoUsd> {
    Some(NanoUsd(amount))
}

fn in_tier(tier: &str, usage: Value) -> Valuation {
    let mut record = record("omni", usage);
    record["request"]["settings"] = json!([{"name":"service_tier","value":tier}]);
    costs(book()).value(&from(record))
}

#[test]
fn cached_reasoning_and_sound_have_prices_of_their_own() {
    let value = priced(
        "omni",
        json!({"input":1000,"cached_input":400,"input_audio":100,
            "output":500,"reasoning":200,"output_audio":50}),
    );
    // 1000 − 400 − 100 = 500 at 2, 400 at 0.5, 100 at 40; 500 − 200 − 50 = 250 at 8, 200 at 10, 50 at 80
    // dollars for a million.
    let parts = CostParts {
        input: nano(1_000_000),
        cached_input: nano(200_000),
        cache_write: None,
        audio_input: nano(4_000_000),
        output: nano(2_000_000),
        reasoning: nano(2_000_000),
        audio_output: nano(4_000_000),
    };
    assert_eq!(value.parts, Some(parts));
    assert_eq!((value.total, value.total.map(NanoUsd::usd)), (nano(13_200_000), Some(0.0132)));
    // 400 at 2 less 400 at 0.5.
    assert_eq!(value.saved_by_cache, nano(600_000));
    assert!(!value.estimated && !value.output_only);
    assert_eq!(value.source, Source::PriceBook);
}

#[test]
fn writes_to_a_cache_cost_by_how_long_they_are_kept() {
    // In the additive counting of this vendor: 50 fresh, 1000 written (600 of them for an hour), 2000 read.
    let value = priced(
        "sonnet",
        json!({"input":3050,"cached_input":2000,"cache_write_input":1000,
            "cache_write_5m_input":400,"cache_write_1h_input":600,"output":100}),
    );
    let parts = value.parts.unwrap();
    assert_eq!((parts.input, parts.cached_input), (nano(150_000), nano(600_000)));
    // 400 at 3.75 and 600 at 6.
    assert_eq!(parts.cache_write, nano(5_100_000));
    assert_eq!(value.total, nano(150_000 + 600_000 + 5_100_000 + 1_500_000));
    // 2000 at 3 less 2000 at 0.3.
    assert_eq!((value.saved_by_cache, value.estimated), (nano(5_400_000), false));
    // Not told apart, all are of the short kind.
    let untold = priced("sonnet", json!({"input":1000,"cache_write_input":1000,"output":0}));
    assert_eq!((untold.total, untold.estimated), (nano(3_750_000), false));
}

#[test]
fn a_long_prompt_makes_all_of_the_request_dearer() {
    let at = |input: u64| priced("sonnet", json!({"input":input,"cached_input":100_000,"output":1000}));
    // 100 000 at 3, 100 000 at 0.3, 1000 at 15 dollars for a million.
    assert_eq!(at(200_000).total, nano(300_000_000 + 30_000_000 + 15_000_000));
    // 100 001 at 6, 100 000 at 0.6, 1000 at 22.5.
    assert_eq!(at(200_001).total, nano(600_006_000 + 60_000_000 + 22_500_000));
    assert!(!at(200_001).estimated);
}

#[test]
fn a_tier_has_prices_of_its_own_and_is_only_what_was_asked_for() {
    let usage = json!({"input":1000,"cached_input":500,"output":100});
    let priority = in_tier("\"priority\"", usage.clone());
    // 500 at 4, 500 at 1, 100 at 16.
    assert_eq!(priority.total, nano(2_000_000 + 500_000 + 1_600_000));
    assert!(priority.estimated);
    // Flex has a price for the input alone: 500 at 1, 500 at 0.5, 100 at 8.
    let flex = in_tier("\"flex\"", usage.clone());
    assert_eq!((flex.total, flex.estimated), (nano(500_000 + 250_000 + 800_000), true));
    for (tier, estimated) in
        [("\"auto\"", false), ("\"default\"", false), ("null", false), ("\"scale\"", true)]
    {
        let value = in_tier(tier, usage.clone());
        assert_eq!(
            (value.total, value.estimated),
            (nano(1_000_000 + 250_000 + 800_000), estimated),
            "{tier}"
        );
    }
}

#[test]
fn a_missing_price_of_a_part_is_that_of_the_whole_and_said_so() {
    // 1000 at 1 and 100 at 2, whatever the cache did.
    let cached = priced("plain", json!({"input":1000,"cached_input":600,"output":100}));
    assert_eq!((cached.total, cached.estimated, cached.saved_by_cache), (nano(1_200_000), true, None));
    let written = priced("plain", json!({"input":1000,"cache_write_input":600,"output":100}));
    assert_eq!((written.total, written.estimated), (nano(1_200_000), true));
    let sound = priced("plain", json!({"input":1000,"input_audio":600,"output":100}));
    assert_eq!((sound.total, sound.estimated), (nano(1_200_000), true));
    // Reasoning is output, and a count of zero needs no price.
    let reasoned = priced("plain", json!({"input":1000,"cached_input":0,"output":100,"reasoning":60}));
    assert_eq!((reasoned.total, reasoned.estimated), (nano(1_200_000), false));
    assert_eq!(reasoned.parts.unwrap().reasoning, nano(120_000));
}

#[test]
fn parts_that_are_more_than_the_whole_are_cut() {
    let value = priced("omni", json!({"input":100,"cached_input":150,"output":10,"reasoning":30}));
    // 100 at 0.5 and 10 at 10.
    assert_eq!((value.total, value.estimated), (nano(50_000 + 100_000), true));
}

#[test]
fn the_parts_add_up_to_the_total() {
    // Each part is rounded: 3 × 33.3 nano dollars are not 100.
    let own = PriceOverride {
        model: "thirds".into(),
        input: Some(0.033_333),
        output: Some(0.033_333),
        cached_input: Some(0.033_333),
        ..PriceOverride::default()
    };
    let costs = costs(book().with_overrides(&[own]).unwrap());
    let value = costs.value(&exchange("thirds", json!({"input":2,"cached_input":1,"output":1})));
    let parts = value.parts.unwrap();
    assert_eq!((parts.input, parts.cached_input, parts.output), (nano(33), nano(33), nano(33)));
    assert_eq!((value.total, parts.sum()), (nano(99), NanoUsd(99)));
}

#[test]
fn what_is_not_known_is_not_zero() {
    let usage = || json!({"input":10,"output":5});
    for value in [
        priced("never-heard-of", usage()),
        priced("free", usage()),
        priced("promptless", usage()),
        priced("plain", Value::Null),
        // A prompt alone, of which the output is not told.
        priced("plain", json!({"input":10})),
    ] {
        assert_eq!(value, Valuation::UNKNOWN);
    }
    assert_eq!(Valuation::UNKNOWN.total, None);
    let nothing = priced("plain", json!({"input":0,"output":0}));
    assert_eq!((nothing.total, nothing.source), (nano(0), Source::PriceBook));
}

#[test]
fn an_embedding_has_a_prompt_alone() {
    let value = priced("embed", json!({"input":1_000_000,"total":1_000_000}));
    assert_eq!((value.total, value.estimated), (nano(20_000_000), false));
}

#[test]
fn the_upstreams_own_word_is_the_best() {
    let own = PriceOverride { model: "plain".into(), input: Some(9.0), ..PriceOverride::default() };
    let costs = costs(book().with_overrides(&[own]).unwrap());
    let value = costs.value(&exchange("plain", json!({"input":1000,"output":100,"cost_nano_usd":77})));
    let expected = Valuation { total: nano(77), source: Source::Upstream, ..Valuation::UNKNOWN };
    assert_eq!(value, expected);
    // It says zero, so zero it is.
    let free = costs.value(&exchange("x", json!({"input":1000,"output":100,"cost_nano_usd":0})));
    assert_eq!(free.total, nano(0));
}

#[test]
fn the_users_prices_stand_alone_and_may_be_zero() {
    let own = |model: &str, input, output| PriceOverride {
        model: model.into(),
        input,
        output,
        ..PriceOverride::default()
    };
    let book = book().with_overrides(&[
        own("free", Some(0.0), Some(0.0)),
        own("omni", Some(2.5), Some(10.0)),
        own("plain", Some(1.0), None),
    ]);
    let costs = costs(book.unwrap());
    let value = |model: &str, usage| costs.value(&exchange(model, usage));
    let free = value("free", json!({"input":10,"output":5}));
    assert_eq!((free.total, free.source, free.estimated), (nano(0), Source::Override, false));
    // 1000 at 2.5 and 100 at 10; the book's price of cached tokens is not mixed in.
    let omni = value("omni", json!({"input":1000,"cached_input":500,"output":100}));
    assert_eq!((omni.total, omni.estimated), (nano(2_500_000 + 1_000_000), true));
    assert_eq!(value("plain", json!({"input":10,"output":5})).total, None);
    assert_eq!(value("plain", json!({"input":10,"output":0})).total, nano(10_000));
}

#[test]
fn a_near_name_is_an_estimate() {
    let usage = json!({"input":1000,"output":100});
    assert!(!priced("openai/plain", usage.clone()).estimated);
    for name in ["plain-2024-08-06", "reseller/plain"] {
        let value = priced(name, usage.clone());
        assert_eq!((value.total, value.estimated), (nano(1_200_000), true), "{name}");
    }
}

#[test]
fn chunks_stand_in_for_tokens_as_an_estimate() {
    let mut streamed = record("plain", Value::Null);
    streamed["answer"]["tokens"] = json!({"count":50,"provenance":"counted_chunks"});
    let value = costs(book()).value(&from(streamed.clone()));
    // 50 at 2; nothing is known of the prompt.
    assert_eq!((value.total, value.estimated, value.output_only), (nano(100_000), true, true));
    assert_eq!(value.parts.unwrap().input, None);
    // Counted by token ids the output is right, and the whole is too low all the same.
    streamed["answer"]["tokens"]["provenance"] = json!("token_ids");
    let value = costs(book()).value(&from(streamed));
    assert!(value.estimated && value.output_only);
}

#[test]
fn what_broke_off_costs_what_flowed() {
    // The usage at the beginning of the stream says one token; 40 have flowed since.
    let mut gone = record("sonnet", json!({"input":1000,"output":1}));
    gone["outcome"] = json!("client_gone_mid_stream");
    gone["answer"]["output"] =
        serde_json::to_value(weir_core::exchange::Output { chunks: 40, tokens: 40, ..Default::default() })
            .unwrap();
    let value = costs(book()).value(&from(gone.clone()));
    // 1000 at 3 and 40 at 15.
    assert_eq!((value.total, value.estimated), (nano(3_000_000 + 600_000), true));
    assert!(!value.output_only);
    // Before a first token nothing is known of what it cost.
    gone["outcome"] = json!("client_gone_before_first_token");
    gone["answer"]["usage"] = Value::Null;
    gone["answer"]["tokens"] = Value::Null;
    gone["answer"]["output"] = Value::Null;
    assert_eq!(costs(book()).value(&from(gone)), Valuation::UNKNOWN);
}

#[test]
fn costs_beyond_any_bound_are_the_greatest_there_is() {
    let value = priced("omni", json!({"input":u64::MAX,"output":u64::MAX}));
    assert_eq!(value.total, nano(u64::MAX));
}

#[test]
fn a_valuation_survives_a_round_trip() {
    let value = priced("omni", json!({"input":1000,"cached_input":400,"output":500}));
    let text = serde_json::to_string(&value).unwrap();
    assert!(text.contains(r#""source":"price_book""#), "{text}");
    assert_eq!(serde_json::from_str::<Valuation>(&text).unwrap(), value);
}

#[test]
fn the_answers_model_is_priced_and_not_the_alias() {
    let mut aliased = record("plain", json!({"input":1000,"output":0}));
    aliased["answer"]["model"] = json!("sonnet");
    let costs: Costs = costs(book());
    assert_eq!(costs.value(&from(aliased.clone())).total, nano(3_000_000));
    aliased["answer"]["model"] = json!("some-build-of-it");
    let value = costs.value(&from(aliased));
    assert_eq!((value.total, value.estimated), (nano(1_000_000), true));
}
