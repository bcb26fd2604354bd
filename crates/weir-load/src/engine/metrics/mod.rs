//! What the engine knows of itself, and `GET /metrics`, where it says so under vLLM's names.

use http::{Response, StatusCode};

pub(crate) use self::histogram::{Histogram, one_two_five};
pub(crate) use self::ledger::{Ledger, Life, Size};
use self::text::Page;
use super::Shared;
use super::batch::{Batching, Books, Occupancy};
use super::http::{Answer, refuse, whole_body};
use super::refusal::{ErrorShape, Refusal};

mod batched;
pub(crate) mod bounds;
mod common;
mod histogram;
mod ledger;
mod text;

/// The media type of the page.
const MEDIA: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Answers `GET /metrics`.
pub(crate) async fn answer(shared: &Shared) -> Response<Answer> {
    let Some(snapshot) = shared.scheduler.snapshot().await else {
        return refuse(&Refusal::simulated(StatusCode::SERVICE_UNAVAILABLE), ErrorShape::OpenAi);
    };
    whole_body(StatusCode::OK, MEDIA, snapshot.page(shared.model()))
}

/// What an engine has counted, and how busy it is, at one moment.
#[derive(Debug)]
pub(crate) enum Snapshot {
    /// The plain model: no steps, no blocks.
    Plain { running: u64, waiting: u64, ledger: Box<Ledger> },
    /// The continuous batch.
    Batch { occupancy: Occupancy, books: Box<Books>, config: Batching },
}

impl Snapshot {
    /// The page, for an engine that serves `model`. It holds what is known and nothing else.
    pub(crate) fn page(&self, model: &str) -> String {
        let mut page = Page::new(&[("engine", "0"), ("model_name", model)]);
        match self {
            Snapshot::Plain { running, waiting, ledger } => {
                common::occupancy(&mut page, *running, *waiting);
                common::ledger(&mut page, ledger);
            }
            Snapshot::Batch { occupancy, books, config } => {
                common::occupancy(&mut page, occupancy.running as u64, occupancy.waiting as u64);
                common::ledger(&mut page, &books.ledger);
                batched::memory(&mut page, *occupancy, config.config());
                batched::books(&mut page, books);
                batched::cache_config(&mut page, &config.config().kv);
            }
        }
        page.into_text()
    }
}
