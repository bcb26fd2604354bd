//! Steps and their times, and who is in them.

use super::*;

#[test]
fn steps_take_what_the_formula_says() {
    let cost = StepCost { per_context_token: Duration::from_micros(10), ..COST };
    let mut run = Run::new(&BatchConfig { cost, ..config() });
    run.ask(&prompt(40, 1), 3);
    run.ask(&prompt(20, 2), 2);
    // Two prompts of 60 tokens together: 10 ms + 60 / 1000 s.
    assert_eq!(run.step(), Some(ms(70)));
    // Two sequences decode and look back at 41 and 21 tokens.
    assert_eq!(run.step(), Some(ms(12) + Duration::from_micros(10 * (41 + 21))));
    // One is left.
    assert_eq!(run.step(), Some(ms(11) + Duration::from_micros(10 * 42)));
    assert_eq!(run.step(), None);
    assert_eq!(run.times(0).iter().map(|(_, tokens)| *tokens).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(run.times(1).last(), Some(&(ms(82) + Duration::from_micros(620), 2)));
}

#[test]
fn ten_streams_share_the_batch() {
    let mut run = Run::new(&config());
    for number in 0..10 {
        run.ask(&prompt(5, number), 21);
    }
    run.finish();
    // 50 tokens of prompts in one step, then 20 steps of ten sequences each.
    assert_eq!(run.now, ms(10 + 50) + 20 * ms(10 + 10));
    for request in 0..10 {
        assert_eq!(run.times(request).len(), 21);
        assert_eq!(run.times(request)[0].0, ms(60));
        assert_eq!(run.longest_gap(request), ms(20));
    }
    // One by one they would have taken 10 · (15 + 20 · 11) ms.
    assert!(run.now < ms(2350));
}

#[test]
fn more_than_max_num_seqs_wait_in_order() {
    let mut run = Run::new(&BatchConfig { max_num_seqs: 2, ..config() });
    for _ in 0..5 {
        run.ask("", 3);
    }
    run.step();
    let occupancy = run.model.occupancy();
    assert_eq!((occupancy.running, occupancy.waiting), (2, 3));
    run.finish();
    let firsts: Vec<Duration> = (0..5).map(|request| run.times(request)[0].0).collect();
    // Each pair takes 12 + 12 + 12 ms; the last is alone.
    assert_eq!(firsts, [ms(12), ms(12), ms(48), ms(48), ms(83)].map(|at| at));
    let queue = &run.model.books().ledger.phases.queue;
    assert_eq!((queue.count(), queue.sum()), (5, 2.0 * 0.036 + 0.072));
}

#[test]
fn chunked_prefill_keeps_the_others_going() {
    let gap = |chunked_prefill, max_num_batched_tokens| {
        let limits = BatchConfig { chunked_prefill, max_num_batched_tokens, ..config() };
        let mut run = Run::new(&limits);
        let decoding = run.ask("", 40);
        for _ in 0..3 {
            run.step();
        }
        let long = run.ask(&prompt(300, 1), 2);
        run.finish();
        assert_eq!(run.times(decoding).len(), 40);
        (run.longest_gap(decoding), run.times(long)[0].0)
    };
    // A budget of 64 tokens: one decodes, 63 of the prompt are computed beside it.
    let (chunked, chunked_first) = gap(true, 64);
    assert_eq!(chunked, ms(10 + 1 + 63));
    // The whole prompt in a step of its own, and the decoding one waits for it and its own step.
    let (stalled, stalled_first) = gap(false, 400);
    assert_eq!(stalled, ms(10 + 300) + ms(10 + 2));
    // What keeps the others going costs the long prompt five steps.
    let start = ms(11) + 2 * ms(11);
    assert_eq!(stalled_first - start, ms(310));
    assert_eq!(chunked_first - start, 5 * ms(11) + ms(300));
}

#[test]
fn a_request_that_has_not_come_yet_is_not_let_in() {
    let mut run = Run::new(&config());
    run.now = ms(500);
    run.ask("", 1);
    run.now = ms(100);
    assert_eq!(run.step(), None);
    assert_eq!(run.model.next_arrival(), Some(ms(500)));
    run.now = ms(500);
    assert_eq!(run.step(), Some(ms(11)));
}

#[test]
fn choices_are_sequences() {
    let mut run = Run::new(&config());
    let request = run.ask_choices(&prompt(8, 1), 4, 3);
    run.step();
    assert_eq!(run.model.occupancy().running, 3);
    run.finish();
    assert!((0..3).all(|choice| run.yields[&(request, choice)].len() == 4));
    let ledger = &run.model.books().ledger;
    assert_eq!((ledger.prompt_tokens, ledger.generation_tokens, ledger.finished.stop), (24, 12, 3));
    assert_eq!((ledger.sizes.choices.count(), ledger.sizes.choices.sum()), (1, 3.0));
    assert_eq!((ledger.sizes.longest_choice.count(), ledger.sizes.longest_choice.sum()), (1, 4.0));
}
