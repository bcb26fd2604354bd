//! The task that runs the batch in real time.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use super::config::Batching;
use super::model::{Model, Yield};
use super::progress::Progress;
use super::seat::{Batch, MAILBOX};
use super::sequence::Job;
use crate::clock::{self, FOREVER};
use crate::engine::metrics::Snapshot;
use crate::engine::stats::Counters;

/// What the task is asked to do.
#[derive(Debug)]
pub(super) enum Message {
    Submit(Submission),
    Read(oneshot::Sender<Snapshot>),
}

/// A request for the batch.
#[derive(Debug)]
pub(super) struct Submission {
    pub(super) request: u64,
    pub(super) choices: u32,
    /// One for each prompt.
    pub(super) jobs: Vec<Job>,
    pub(super) progress: Arc<Progress>,
}

/// The task's own state: it alone owns the model.
#[derive(Debug)]
pub(crate) struct Driver {
    config: Batching,
    model: Model,
    mailbox: mpsc::Receiver<Message>,
    /// The requests in the batch, each with the choices that still run.
    requests: HashMap<u64, (Arc<Progress>, u32)>,
    counters: Arc<Counters>,
    /// What of them is the batch's.
    published: (u64, u64),
    epoch: Instant,
    /// The engine's clock: the end of the last step. It falls behind real time while the machine is
    /// busy elsewhere, and then the next steps take no time until it has caught up.
    at: Duration,
}

/// A batch and the task that has to run for it.
pub(crate) fn batch(config: Batching, counters: Arc<Counters>) -> (Batch, Driver) {
    let (sender, mailbox) = mpsc::channel(MAILBOX);
    let epoch = clock::now();
    let driver = Driver {
        model: Model::new(&config),
        config: config.clone(),
        mailbox,
        requests: HashMap::new(),
        counters,
        published: (0, 0),
        epoch,
        at: Duration::ZERO,
    };
    (Batch::new(config, sender, epoch), driver)
}

impl Driver {
    /// Runs step after step until nobody is left who could ask for one.
    pub(crate) async fn run(mut self) {
        loop {
            while let Ok(message) = self.mailbox.try_recv() {
                self.take(message);
            }
            self.sweep();
            let took = self.model.begin(self.at);
            self.publish();
            let went_on = match took {
                Some(took) => self.step(took).await,
                None => self.idle().await,
            };
            if !went_on {
                return;
            }
        }
    }

    /// Waits for a step's end, and tells everybody what it brought them.
    async fn step(&mut self, took: Duration) -> bool {
        self.at = self.at.saturating_add(took).min(FOREVER);
        let ends = self.epoch + self.at;
        loop {
            match timeout_at(ends, self.mailbox.recv()).await {
                Ok(Some(message)) => self.take(message),
                Ok(None) => return false,
                Err(_) => break,
            }
            self.publish();
            // A mailbox that is never empty would keep the step from ending.
            if clock::now() >= ends {
                break;
            }
        }
        for news in self.model.finish(self.at) {
            self.tell(&news);
        }
        true
    }

    /// Waits until there is something to do, and sets the clock to when that came.
    async fn idle(&mut self) -> bool {
        if let Some(arrival) = self.model.next_arrival() {
            self.at = self.at.max(arrival);
            return true;
        }
        match self.mailbox.recv().await {
            Some(message) => self.take(message),
            None => return false,
        }
        true
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Submit(Submission { request, choices, jobs, progress }) => {
                self.requests.insert(request, (progress, choices));
                jobs.into_iter().for_each(|job| self.model.submit(job));
            }
            // Whoever asked may have left meanwhile.
            Message::Read(reply) => drop(reply.send(self.snapshot())),
        }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::Batch {
            occupancy: self.model.occupancy(),
            books: Box::new(self.model.books().clone()),
            config: self.config.clone(),
        }
    }

    /// Takes those out of the batch whose other side has left.
    fn sweep(&mut self) {
        let model = &mut self.model;
        self.requests.retain(|&request, (progress, _)| {
            let gone = progress.gone();
            if gone {
                model.abort(request);
            }
            !gone
        });
    }

    fn tell(&mut self, news: &Yield) {
        let Some((progress, running)) = self.requests.get_mut(&news.request) else { return };
        progress.tell(news);
        if news.finished {
            *running -= 1;
            if *running == 0 {
                self.requests.remove(&news.request);
            }
        }
    }

    /// Others count there as well, so only what has changed is added.
    fn publish(&mut self) {
        let occupancy = self.model.occupancy();
        let now = (occupancy.running as u64, (occupancy.waiting + occupancy.swapped) as u64);
        let (active, queued) = std::mem::replace(&mut self.published, now);
        self.counters.change_active(active, now.0);
        self.counters.queued.fetch_add(now.1.wrapping_sub(queued), Ordering::Relaxed);
    }
}
