//! The prefix cache.

use super::*;

fn caching() -> BatchConfig {
    BatchConfig { kv: KvCache { prefix_caching: true, ..config().kv }, ..config() }
}

fn last(run: &Run, request: u64) -> Yield {
    run.yields[&(request, 0)].last().unwrap().1.clone()
}

#[test]
fn a_prompt_that_begins_alike_is_computed_from_where_it_differs() {
    let mut run = Run::new(&caching());
    let shared = prompt(20, 1);
    run.ask(&format!("{shared} how high is the river"), 1);
    assert_eq!(run.step(), Some(ms(10 + 25)));
    // Twenty tokens, five blocks, are known; six are not.
    let second = run.ask(&format!("{shared} and how low has it been"), 1);
    assert_eq!(run.step(), Some(ms(10 + 6)));
    assert_eq!(last(&run, second).cached, Some(20));
    let books = run.model.books();
    assert_eq!((books.prefix_queries, books.prefix_hits), (25 + 26, 20));
    assert_eq!((books.ledger.prompt_tokens, books.ledger.cached_tokens), (51, 20));
    assert_eq!((books.prefill_computed.count(), books.prefill_computed.sum()), (2, 31.0));
}

#[test]
fn the_last_token_is_always_computed() {
    let mut run = Run::new(&caching());
    for _ in 0..2 {
        run.ask(&prompt(16, 1), 1);
        run.finish();
    }
    // Of four full blocks three are used again.
    assert_eq!(last(&run, 1).cached, Some(12));
    assert_eq!(run.now, ms(10 + 16) + ms(10 + 4));
}

#[test]
fn choices_share_the_blocks_of_their_prompt() {
    let mut run = Run::new(&caching());
    run.ask_choices(&prompt(18, 1), 3, 3);
    // The first computes 18 tokens, the others the two beyond the full blocks.
    assert_eq!(run.step(), Some(ms(10 + 18 + 2 + 2)));
    // Four shared blocks, and one for each.
    assert_eq!(run.model.occupancy().gpu, 7.0 / 1000.0);
    run.finish();
    assert_eq!(run.model.occupancy().gpu, 0.0);
}

#[test]
fn what_was_free_for_the_longest_is_forgotten_first() {
    let kv = KvCache { num_gpu_blocks: 10, ..caching().kv };
    let mut run = Run::new(&BatchConfig { kv, max_model_len: 40, ..caching() });
    let cached = |run: &mut Run, number| {
        let request = run.ask(&prompt(16, number), 1);
        run.finish();
        last(run, request).cached
    };
    // Four blocks each, of ten.
    assert_eq!(cached(&mut run, 1), Some(0));
    assert_eq!(cached(&mut run, 2), Some(0));
    assert_eq!(cached(&mut run, 1), Some(12));
    // The third takes the last that nobody has used, the first's tail and two of the second's.
    assert_eq!(cached(&mut run, 3), Some(0));
    assert_eq!(cached(&mut run, 2), Some(8));
    // For that the second took one that held nothing to be used again, and the first's third.
    assert_eq!(cached(&mut run, 1), Some(8));
}

#[test]
fn without_a_cache_nothing_is_looked_for() {
    let mut run = Run::new(&config());
    for _ in 0..2 {
        run.ask(&prompt(16, 1), 1);
        run.finish();
    }
    assert_eq!(last(&run, 1).cached, None);
    assert_eq!(run.now, 2 * ms(10 + 16));
    assert_eq!(run.model.books().prefix_queries, 0);
}

#[test]
fn a_preempted_sequence_finds_its_prompt_again_and_is_not_counted_twice() {
    let kv = KvCache { num_gpu_blocks: 10, ..caching().kv };
    let mut run = Run::new(&BatchConfig { kv, max_model_len: 40, ..caching() });
    run.ask(&prompt(12, 1), 20);
    run.ask(&prompt(12, 2), 20);
    run.finish();
    let books = run.model.books();
    assert!(books.preemptions > 0);
    assert_eq!((books.prefix_queries, books.prefix_hits), (24, 0));
    assert_eq!(books.ledger.generation_tokens, 40);
}
