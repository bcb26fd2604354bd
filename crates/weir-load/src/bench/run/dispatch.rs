//! The dispatcher: it sends each request when it is due, or as soon after that as it may.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinError, JoinSet, yield_now};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use tokio_util::sync::CancellationToken;

use super::config::{BenchConfig, Limits};
use super::conversation::{Conversations, Place};
use super::exchange::exchange;
use super::progress::Progress;
use super::sample::{Asked, End, Sample};
use super::shared::Shared;
use super::{Outcome, Stop, Unsent};
use crate::bench::ask::{Ask, Turn};
use crate::bench::schedule::{Rate, Times};
use crate::clock;

/// How often progress is told.
const TELLING: Duration = Duration::from_millis(200);

/// When a request is due, in nanoseconds after the start, and which it is.
type Due = (u64, u64);

/// A run under way. It alone decides what is sent; requests only run.
pub(super) struct Dispatch<I, P> {
    shared: Arc<Shared>,
    id_prefix: String,
    keeps_text: bool,
    limits: Limits,
    source: Source<I>,
    /// What is due next: one request of the source's times, and turns that were answered for.
    due: BTreeMap<Due, Ask>,
    conversations: Conversations,
    flight: JoinSet<Landed>,
    samples: Vec<Sample>,
    unsent: Unsent,
    telling: Telling<P>,
}

/// Where requests come from.
struct Source<I> {
    asks: I,
    times: Times,
    /// Requests taken so far, and the most that may be.
    taken: u64,
    most: u64,
    /// The request of its times that is in line.
    in_line: Option<Due>,
    is_paced: bool,
}

/// Tells progress.
struct Telling<P> {
    now: Progress,
    before: Progress,
    on_progress: P,
}

/// A request that has ended, and the turn that it was.
type Landed = Box<(Sample, Option<Turn>)>;

/// What woke the dispatcher.
enum Woken {
    Interrupted,
    Ended(Result<Landed, JoinError>),
    Due,
    Tick,
}

impl<I: Iterator<Item = Ask>, P: FnMut(&Progress)> Dispatch<I, P> {
    /// A run of what `asks` gives, that starts now.
    pub(super) fn new(config: &BenchConfig, shared: Shared, asks: I, on_progress: P) -> Self {
        let limits = config.limits;
        let (_, upper) = asks.size_hint();
        let total = limits.requests.map_or(upper, |most| Some(upper.map_or(most, |upper| upper.min(most))));
        let now = Progress { total, ..Progress::default() };
        Dispatch {
            shared: Arc::new(shared),
            id_prefix: config.id_prefix.clone(),
            keeps_text: config.keeps_text,
            limits,
            source: Source {
                asks,
                times: config.schedule.times(total, limits.duration),
                taken: 0,
                most: limits.requests.map_or(u64::MAX, |most| most as u64),
                in_line: None,
                is_paced: config.schedule.rate() != Rate::Unlimited,
            },
            due: BTreeMap::new(),
            conversations: Conversations::default(),
            flight: JoinSet::new(),
            samples: Vec::new(),
            unsent: Unsent::default(),
            telling: Telling { now, before: now, on_progress },
        }
    }

    /// Sends, waits, and gives what came of it.
    pub(super) async fn run(mut self, cancel: &CancellationToken) -> Outcome {
        let stop = self.send_all(cancel).await;
        if stop == Stop::TimeUp {
            self.count_overdue();
        }
        self.land(cancel, stop).await;
        self.unsent.turns += self.conversations.waiting();
        self.tell();
        let duration = Duration::from_nanos(self.shared.elapsed_ns());
        let mut samples = self.samples;
        samples.sort_by_key(|sample| sample.index);
        let started_ns = self.shared.started_ns();
        Outcome { samples, started_ns, duration, stop, unsent: self.unsent, failed_warmups: 0 }
    }

    /// Sends until there is nothing to send any more, or no time.
    async fn send_all(&mut self, cancel: &CancellationToken) -> Stop {
        let origin = clock::now() - Duration::from_nanos(self.shared.elapsed_ns());
        let end_ns = self.limits.duration.map_or(u64::MAX, nanos);
        let mut ticks = interval(TELLING);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            self.take();
            let next = self.due.first_key_value().map(|(due, _)| due.0);
            if next.is_none() && self.flight.is_empty() {
                return Stop::Finished;
            }
            if next.is_some_and(|due| due >= end_ns) && self.flight.is_empty()
                || self.shared.elapsed_ns() >= end_ns
            {
                // What is due only after the end is not waited for.
                let is_over = next.is_none() && self.conversations.waiting() == 0;
                return if is_over { Stop::Finished } else { Stop::TimeUp };
            }
            let has_room = self.limits.max_concurrency.is_none_or(|most| self.flight.len() < most.max(1));
            let wake = next.filter(|_| has_room).unwrap_or(u64::MAX).min(end_ns);
            let woken = if wake <= self.shared.elapsed_ns() && !cancel.is_cancelled() {
                Woken::Due
            } else {
                self.wait(origin, wake, cancel, &mut ticks).await
            };
            match woken {
                Woken::Interrupted => return Stop::Interrupted,
                Woken::Ended(ended) => self.ended(ended),
                Woken::Due if next.is_some_and(|due| due <= wake && due < end_ns) && has_room => {
                    self.send();
                    // Requests have to get their turn, even where all are due at once.
                    yield_now().await;
                }
                Woken::Due => {}
                Woken::Tick => self.tell(),
            }
        }
    }

    async fn wait(
        &mut self,
        origin: Instant,
        wake_ns: u64,
        cancel: &CancellationToken,
        ticks: &mut tokio::time::Interval,
    ) -> Woken {
        let wake = Duration::from_nanos(wake_ns).min(clock::FOREVER);
        tokio::select! {
            biased;
            () = cancel.cancelled() => Woken::Interrupted,
            () = sleep_until(origin + wake) => Woken::Due,
            Some(ended) = self.flight.join_next() => Woken::Ended(ended),
            _ = ticks.tick() => Woken::Tick,
        }
    }

    /// Waits for what is in flight; what takes longer than it may is cancelled.
    async fn land(&mut self, cancel: &CancellationToken, stop: Stop) {
        if stop == Stop::Interrupted {
            self.shared.stop.cancel();
        }
        let grace = self.limits.drain.unwrap_or(clock::FOREVER).min(clock::FOREVER);
        let end = clock::now() + grace;
        let mut ticks = interval(TELLING);
        while !self.flight.is_empty() {
            tokio::select! {
                biased;
                Some(ended) = self.flight.join_next() => self.ended(ended),
                () = cancel.cancelled(), if !self.shared.stop.is_cancelled() => self.shared.stop.cancel(),
                () = sleep_until(end), if !self.shared.stop.is_cancelled() => self.shared.stop.cancel(),
                _ = ticks.tick() => self.tell(),
            }
        }
    }

    /// Takes requests from the source until one of its times is in line.
    fn take(&mut self) {
        while self.source.in_line.is_none() && self.source.taken < self.source.most {
            let Some(ask) = self.source.asks.next() else {
                self.source.most = self.source.taken;
                return;
            };
            let index = self.source.taken;
            self.source.taken += 1;
            let Some(turn) = ask.turn else {
                self.queue(index, ask);
                continue;
            };
            match self.conversations.place(index, turn, ask) {
                Place::Now(ask, _) if turn.nth == 0 => self.queue(index, ask),
                Place::Now(ask, answered_ns) => self.queue_turn(index, ask, answered_ns),
                Place::Later => {}
                Place::Never => self.unsent.turns += 1,
            }
        }
    }

    /// Puts a request in line at the next of the source's times, or at its own.
    fn queue(&mut self, index: u64, ask: Ask) {
        let due = self.source.times.next();
        if let Some(at) = ask.at.or(due) {
            self.source.in_line = Some((nanos(at), index));
            self.due.insert((nanos(at), index), ask);
        }
    }

    /// Puts a turn in line after the answer before it, but not before its own time.
    fn queue_turn(&mut self, index: u64, ask: Ask, answered_ns: u64) {
        let pause = ask.turn.map_or(Duration::ZERO, |turn| turn.pause);
        let due = answered_ns.saturating_add(nanos(pause)).max(ask.at.map_or(0, nanos));
        self.due.insert((due, index), ask);
    }

    /// Sends what is due next.
    fn send(&mut self) {
        let Some((due, ask)) = self.due.pop_first() else { return };
        if self.source.in_line == Some(due) {
            self.source.in_line = None;
        }
        let (intended_ns, index) = due;
        let asked = Asked {
            input_tokens: ask.input_tokens,
            output_tokens: ask.output_tokens,
            turn: ask.turn.map(|turn| (turn.conversation, turn.nth)),
        };
        let mut sample = Sample::new(index, format!("{}{index}", self.id_prefix), asked, intended_ns);
        let shared = Arc::clone(&self.shared);
        self.telling.now.sent += 1;
        self.flight.spawn(async move {
            exchange(&shared, &ask, &mut sample).await;
            Box::new((sample, ask.turn))
        });
    }

    fn ended(&mut self, ended: Result<Landed, JoinError>) {
        let (mut sample, turn) = match ended {
            Ok(ended) => *ended,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // Only dropping the run aborts a request, and then nobody is here.
                Err(_) => return,
            },
        };
        self.telling.now.count(&sample.end);
        if let Some(turn) = turn {
            let text = if self.keeps_text { sample.text.clone() } else { sample.text.take() };
            self.go_on(turn, &sample, text);
        }
        self.samples.push(sample);
    }

    /// Puts the turn after an answered one in line.
    fn go_on(&mut self, turn: Turn, sample: &Sample, text: Option<String>) {
        if sample.end != End::Complete {
            self.unsent.turns += self.conversations.abandon(turn.conversation);
            return;
        }
        let ended_ns = sample.times.ended_ns;
        let next = self.conversations.answered(turn.conversation, text.unwrap_or_default(), ended_ns);
        if let Some((index, ask)) = next {
            self.queue_turn(index, ask, ended_ns);
        }
    }

    /// Counts what was due before the time was up and is still in line.
    fn count_overdue(&mut self) {
        let end_ns = self.limits.duration.map_or(u64::MAX, nanos);
        loop {
            self.unsent.overdue += self.due.keys().filter(|(due, _)| *due < end_ns).count() as u64;
            let passed = self.source.in_line.take().is_some_and(|(due, _)| due >= end_ns);
            self.due.clear();
            if passed || !self.source.is_paced {
                return;
            }
            self.take();
            if self.due.is_empty() {
                return;
            }
        }
    }

    fn tell(&mut self) {
        let Telling { now, before, on_progress } = &mut self.telling;
        now.elapsed = Duration::from_nanos(self.shared.elapsed_ns());
        now.in_flight = self.flight.len() as u64;
        now.chunks = self.shared.live.chunks();
        *now = now.since(before);
        on_progress(now);
        *before = *now;
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
