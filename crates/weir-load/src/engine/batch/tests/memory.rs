//! Blocks: what fits, who makes room, and what is free again.

use super::*;
use crate::engine::batch::config::Preemption;

/// Room for 40 tokens, ten blocks.
fn tight(preemption: Preemption, num_cpu_blocks: u32) -> BatchConfig {
    let kv = KvCache { num_gpu_blocks: 10, num_cpu_blocks, preemption, ..config().kv };
    BatchConfig { max_model_len: 40, kv, ..config() }
}

#[test]
fn blocks_are_taken_as_tokens_come() {
    let mut run = Run::new(&tight(Preemption::Recompute, 0));
    run.ask(&prompt(7, 1), 6);
    let mut usage = Vec::new();
    while run.step().is_some() {
        usage.push(run.model.occupancy().gpu);
    }
    // The newest token has no block yet: 7, 8, 9, 10, 11 tokens are held, then nothing.
    assert_eq!(usage, [0.2, 0.2, 0.3, 0.3, 0.3, 0.0]);
}

#[test]
fn the_youngest_makes_room_and_loses_nothing() {
    let mut run = Run::new(&tight(Preemption::Recompute, 0));
    let old = run.ask(&prompt(12, 1), 20);
    let young = run.ask(&prompt(12, 2), 20);
    let mut lowest_waiting = 0;
    while run.step().is_some() {
        lowest_waiting = lowest_waiting.max(run.model.occupancy().waiting);
    }
    assert_eq!(lowest_waiting, 1);
    // Both have 31 tokens to hold in the end, eight blocks each, of ten.
    let books = run.model.books();
    assert_eq!(books.preemptions, 1);
    assert_eq!((books.sequence_preemptions.count(), books.sequence_preemptions.sum()), (2, 1.0));
    for request in [old, young] {
        let tokens: Vec<u32> = run.times(request).iter().map(|(_, tokens)| *tokens).collect();
        assert_eq!(tokens, (1..=20).collect::<Vec<_>>(), "request {request}");
    }
    assert_eq!(run.longest_gap(old), ms(12));
    assert!(run.longest_gap(young) > ms(100));
    assert_eq!(run.yields[&(young, 0)].last().unwrap().1.preemptions, 1);
    assert_eq!(books.ledger.generation_tokens, 40);
    assert_eq!(books.ledger.prompt_tokens, 24);
}

#[test]
fn recomputing_costs_the_prompt_and_what_was_generated() {
    let mut run = Run::new(&tight(Preemption::Recompute, 0));
    run.ask(&prompt(12, 1), 20);
    let young = run.ask(&prompt(12, 2), 20);
    while run.model.books().preemptions == 0 {
        run.step();
    }
    // The 20 tokens that both have fill ten blocks; 21 would take twelve.
    let had = run.times(young).last().unwrap().1;
    assert_eq!(had, 9);
    run.finish();
    let resumed = run.times(young).iter().find(|(_, tokens)| *tokens == had + 1).unwrap().0;
    // It is let in with the step after the old one's last, alone: 10 ms + 12 + 9 tokens.
    let old_ended = run.times(0).last().unwrap().0;
    assert_eq!(resumed - old_ended, ms(10 + 12 + 9));
}

#[test]
fn swapping_costs_its_blocks_both_ways_and_computes_nothing_again() {
    let mut run = Run::new(&tight(Preemption::Swap, 8));
    let old = run.ask(&prompt(12, 1), 20);
    let young = run.ask(&prompt(12, 2), 20);
    while run.model.occupancy().swapped == 0 {
        run.step();
    }
    let swapped = run.model.occupancy();
    assert_eq!((swapped.running, swapped.waiting, swapped.swapped), (1, 0, 1));
    assert_eq!(swapped.host, 5.0 / 8.0);
    let had = run.times(young).last().unwrap().1;
    // The step in which it was moved out: one decodes, five blocks are moved.
    let times = run.times(old);
    assert_eq!(times[had as usize].0 - times[had as usize - 1].0, ms(10 + 1 + 5 * 2));
    run.finish();
    let resumed = run.times(young).iter().find(|(_, tokens)| *tokens == had + 1).unwrap().0;
    // Moved in as soon as the old one is done: one decodes, five blocks are moved.
    assert_eq!(resumed - run.times(old).last().unwrap().0, ms(10 + 1 + 5 * 2));
    assert_eq!(run.times(young).len(), 20);
    let occupancy = run.model.occupancy();
    assert_eq!((occupancy.gpu, occupancy.host), (0.0, 0.0));
}

#[test]
fn in_the_step_in_which_one_made_room_nobody_is_let_in() {
    let mut run = Run::new(&BatchConfig { max_num_batched_tokens: 16, ..tight(Preemption::Recompute, 0) });
    run.ask(&prompt(12, 1), 20);
    run.ask(&prompt(12, 2), 20);
    while run.model.books().preemptions == 0 {
        run.step();
    }
    // A piece of it would fit into the four blocks that are left.
    assert_eq!((run.model.occupancy().running, run.model.occupancy().waiting), (1, 1));
    run.step();
    assert_eq!((run.model.occupancy().running, run.model.occupancy().waiting), (2, 0));
}

#[test]
fn those_that_were_swapped_come_before_those_that_wait() {
    let mut run = Run::new(&tight(Preemption::Swap, 8));
    run.ask(&prompt(12, 1), 20);
    run.ask(&prompt(12, 2), 20);
    while run.model.occupancy().swapped == 0 {
        run.step();
    }
    // One block would do for it, and four are free.
    let late = run.ask("", 1);
    run.step();
    let occupancy = run.model.occupancy();
    assert_eq!((occupancy.running, occupancy.waiting, occupancy.swapped), (1, 1, 1));
    run.finish();
    let resumed = run.times(1).iter().find(|(_, tokens)| *tokens == 10).unwrap().0;
    assert_eq!(run.times(late)[0].0, resumed);
}

#[test]
fn a_full_host_means_recomputing() {
    let mut run = Run::new(&tight(Preemption::Swap, 4));
    run.ask(&prompt(12, 1), 20);
    run.ask(&prompt(12, 2), 20);
    while run.model.books().preemptions == 0 {
        run.step();
    }
    let occupancy = run.model.occupancy();
    assert_eq!((occupancy.swapped, occupancy.waiting, occupancy.host), (0, 1, 0.0));
    run.finish();
    assert_eq!(run.times(1).len(), 20);
}

#[test]
fn leaving_frees_the_blocks_wherever_the_sequence_is() {
    for preemption in [Preemption::Recompute, Preemption::Swap] {
        let mut run = Run::new(&tight(preemption, 8));
        let requests: Vec<u64> = (0..4).map(|number| run.ask(&prompt(12, number), 20)).collect();
        while run.model.books().preemptions == 0 {
            run.step();
        }
        // In the middle of a step as well.
        assert!(run.model.begin(run.now).is_some());
        for &request in &requests {
            run.model.abort(request);
            run.model.check();
        }
        let occupancy = run.model.occupancy();
        assert_eq!((occupancy.running, occupancy.waiting, occupancy.swapped), (0, 0, 0));
        assert_eq!((occupancy.gpu, occupancy.host), (0.0, 0.0));
        assert!(run.model.finish(run.now).is_empty());
        assert_eq!(run.model.books().ledger.finished.abort, 4);
    }
}
