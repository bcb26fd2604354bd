//! The batch itself: a pure function of the jobs it was given, in which time is an argument.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::blocks::BlockPool;
use super::books::Books;
use super::config::{BatchConfig, Batching};
use super::schedule::Step;
use super::sequence::{Job, Sequence};

/// A continuous batch: every step, each running sequence gets a token or a few, and room is found
/// for others that wait.
#[derive(Debug)]
pub(crate) struct Model {
    pub(super) config: BatchConfig,
    pub(super) pool: BlockPool,
    /// Free blocks in the host's memory.
    pub(super) host_free: u32,
    /// In order of arrival, but for those that had to make room, which stand in front.
    pub(super) waiting: VecDeque<Sequence>,
    /// In the order they were let in.
    pub(super) running: Vec<Sequence>,
    /// The one that was let in first stands in front.
    pub(super) swapped: VecDeque<Sequence>,
    pub(super) books: Books,
    /// Choices that still run, of prompts that have several; by request and first choice.
    unfinished: HashMap<(u64, u32), u32>,
}

/// What a step has brought a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Yield {
    pub(crate) request: u64,
    pub(crate) choice: u32,
    /// Tokens it has now.
    pub(crate) generated: u32,
    /// From its arrival until it was first scheduled, and from then to its first token.
    pub(crate) queued: Duration,
    pub(crate) prefilled: Duration,
    /// Prompt tokens it found in the prefix cache, if there is one.
    pub(crate) cached: Option<u32>,
    pub(crate) preemptions: u32,
    /// Whether these are all its tokens.
    pub(crate) finished: bool,
}

/// How full the batch is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Occupancy {
    pub(crate) running: usize,
    pub(crate) waiting: usize,
    pub(crate) swapped: usize,
    /// The shares of the two memories that are held, between 0 and 1.
    pub(crate) gpu: f64,
    pub(crate) host: f64,
}

impl Model {
    pub(crate) fn new(config: &Batching) -> Self {
        let config = config.config().clone();
        Model {
            pool: BlockPool::new(config.kv.num_gpu_blocks),
            host_free: config.kv.num_cpu_blocks,
            waiting: VecDeque::new(),
            running: Vec::new(),
            swapped: VecDeque::new(),
            books: Books::new(&config),
            unfinished: HashMap::new(),
            config,
        }
    }

    /// A prompt has come.
    pub(crate) fn submit(&mut self, job: Job) {
        if job.choices > 1 {
            self.unfinished.insert((job.request, job.first_choice), job.choices);
        }
        let job = Arc::new(job);
        let choices = job.first_choice..job.first_choice + job.choices;
        self.waiting.extend(choices.map(|choice| Sequence::new(Arc::clone(&job), choice)));
    }

    /// The other side of a request has left: its blocks are free again, in the middle of a step too.
    pub(crate) fn abort(&mut self, request: u64) {
        let gone = |sequence: &mut Sequence| sequence.job.request == request;
        let mut aborted: Vec<Sequence> = self.running.extract_if(.., gone).collect();
        aborted.extend(take_from(&mut self.waiting, request));
        aborted.extend(take_from(&mut self.swapped, request));
        for sequence in aborted {
            self.host_free += sequence.hosted;
            self.pool.release(&sequence.blocks);
            self.books.ledger.aborted();
        }
        self.unfinished.retain(|&(of, _), _| of != request);
    }

    /// Begins a step, and tells how long it takes. `None`: there is nothing to do at that time.
    pub(crate) fn begin(&mut self, now: Duration) -> Option<Duration> {
        let step = self.schedule(now);
        (!step.is_empty()).then(|| self.config.cost.of(step.load))
    }

    /// Ends the step that was begun last.
    pub(crate) fn finish(&mut self, now: Duration) -> Vec<Yield> {
        let mut yields = Vec::new();
        let mut counted = 0;
        for sequence in &mut self.running {
            let Some(share) = sequence.share.take() else { continue };
            sequence.computed += share.compute;
            if !share.yields {
                continue;
            }
            let (new, guess) = sequence.advance(share);
            let size = sequence.size();
            counted += self.books.ledger.generated(&mut sequence.life, now, new, size);
            self.books.guessed(guess);
            yields.push(self.config.yielded(sequence));
        }
        self.books.step_tokens.observe(counted as f64);
        let finished: Vec<Sequence> = self.running.extract_if(.., |sequence| sequence.finished()).collect();
        for sequence in finished {
            self.pool.release(&sequence.blocks);
            self.books.finished(&sequence);
            self.request_progress(&sequence);
        }
        yields
    }

    /// When the first of those that wait came. Where a step could not begin although some wait, they
    /// come later than that step.
    pub(crate) fn next_arrival(&self) -> Option<Duration> {
        self.waiting.front().map(|sequence| sequence.job.arrived)
    }

    /// How full it is.
    pub(crate) fn occupancy(&self) -> Occupancy {
        let host = self.config.kv.num_cpu_blocks;
        Occupancy {
            running: self.running.len(),
            waiting: self.waiting.len(),
            swapped: self.swapped.len(),
            gpu: (self.pool.total() - self.pool.free()) as f64 / self.pool.total() as f64,
            host: if host == 0 { 0.0 } else { f64::from(host - self.host_free) / f64::from(host) },
        }
    }

    /// What it has counted.
    pub(crate) fn books(&self) -> &Books {
        &self.books
    }

    /// Counts a prompt once the last of its choices has all its tokens.
    fn request_progress(&mut self, sequence: &Sequence) {
        let job = &sequence.job;
        let key = (job.request, job.first_choice);
        if let Some(left) = self.unfinished.get_mut(&key) {
            *left -= 1;
            if *left > 0 {
                return;
            }
            self.unfinished.remove(&key);
        }
        self.books.ledger.request_finished(job.choices, job.output);
    }
}

impl BatchConfig {
    /// What a sequence's request is told.
    fn yielded(&self, sequence: &Sequence) -> Yield {
        let life = sequence.life;
        let scheduled = life.scheduled.unwrap_or(life.arrived);
        Yield {
            request: sequence.job.request,
            choice: sequence.choice,
            generated: sequence.generated,
            queued: scheduled.saturating_sub(life.arrived),
            prefilled: life.first_token.unwrap_or(scheduled).saturating_sub(scheduled),
            cached: self.kv.prefix_caching.then_some(sequence.cached),
            preemptions: sequence.preemptions,
            finished: sequence.finished(),
        }
    }
}

impl Step {
    fn is_empty(&self) -> bool {
        self.scheduled == 0
    }
}

fn take_from(queue: &mut VecDeque<Sequence>, request: u64) -> VecDeque<Sequence> {
    let (gone, kept) = queue.drain(..).partition(|sequence| sequence.job.request == request);
    *queue = kept;
    gone
}
