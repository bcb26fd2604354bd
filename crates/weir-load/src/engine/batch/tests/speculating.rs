//! Speculative decoding in the batch.

use super::*;
use crate::engine::batch::books::Guesses;

fn speculating(tokens: u32, acceptance: f64) -> BatchConfig {
    BatchConfig { speculation: Some(Speculation { tokens, acceptance }), ..config() }
}

#[test]
fn sure_guesses_come_all_at_once() {
    let mut run = Run::new(&speculating(3, 1.0));
    let request = run.ask(&prompt(5, 1), 12);
    run.finish();
    // One with the prompt, then four a step, and what is left.
    assert_eq!(run.times(request), [(ms(15), 1), (ms(26), 5), (ms(37), 9), (ms(48), 12)]);
    let expected = Guesses { drafts: 3, draft_tokens: 3 + 3 + 2, accepted: 8, accepted_at: vec![3, 3, 2] };
    assert_eq!(run.model.books().guesses, Some(expected));
    // Prompt and first token; 4; 4; 3.
    let steps = &run.model.books().step_tokens;
    assert_eq!((steps.count(), steps.sum()), (4, 6.0 + 4.0 + 4.0 + 3.0));
}

#[test]
fn wrong_guesses_yield_one_token_each() {
    let mut run = Run::new(&speculating(3, 0.0));
    let request = run.ask("", 6);
    run.finish();
    assert_eq!(run.times(request).len(), 6);
    let guesses = run.model.books().guesses.clone().unwrap();
    // Drafts of 3, 3, 2, 1 tokens, and none where one is missing.
    assert_eq!((guesses.drafts, guesses.draft_tokens, guesses.accepted), (4, 9, 0));
}

#[test]
fn counters_add_up_at_any_acceptance() {
    let mut run = Run::new(&speculating(3, 0.6));
    for number in 0..10 {
        run.ask(&prompt(10, number), 100);
    }
    run.finish();
    let books = run.model.books();
    let guesses = books.guesses.clone().unwrap();
    assert_eq!(books.ledger.generation_tokens, 1000);
    let steps: usize = run.yields.values().map(Vec::len).sum();
    assert_eq!(steps as u64 + guesses.accepted, 1000);
    assert_eq!(guesses.accepted_at.iter().sum::<u64>(), guesses.accepted);
    assert!(guesses.accepted_at.is_sorted_by(|first, second| first >= second));
    let per_draft = guesses.accepted as f64 / guesses.drafts as f64;
    assert!((per_draft - (0.6 + 0.36 + 0.216)).abs() < 0.15, "{per_draft}");
    // What came in one step came at one time: gaps are counted by steps.
    assert_eq!(books.ledger.between_tokens.count(), steps as u64 - 10);
}
