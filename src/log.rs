//! Weir's own log: to standard error, through a bounded queue that never waits, and never more than
//! a few lines a second from one place in the code.

use std::collections::HashMap;
use std::io::{self, IsTerminal};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tracing::{Event, Metadata, Subscriber};
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Context, Filter, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};
use weir_core::timeline::Stamp;

use crate::config::{LogConfig, LogFormat};

/// Lines that one place may write a second.
const LINES_A_SECOND: u32 = 5;

/// Starts the log. What is still queued is written when the guard is dropped.
pub(crate) fn start(config: &LogConfig) -> WorkerGuard {
    let (writer, guard) = NonBlockingBuilder::default().lossy(true).finish(io::stderr());
    let colours = io::stderr().is_terminal();
    let layer = fmt::layer().with_writer(writer).with_target(false).with_ansi(colours);
    let layer = match config.format {
        LogFormat::Text => layer.boxed(),
        LogFormat::Json => layer.json().flatten_event(true).boxed(),
    };
    let level: LevelFilter = config.level.into();
    // Another subscriber can only be there already in a test.
    let _ =
        tracing_subscriber::registry().with(layer.with_filter(RateLimit::default())).with(level).try_init();
    guard
}

/// Lets through the first lines of each second from each place.
#[derive(Default)]
struct RateLimit {
    // Taken for a line of the log, of which there are few.
    places: Mutex<HashMap<tracing::callsite::Identifier, Place>>,
}

#[derive(Default)]
struct Place {
    second: Stamp,
    lines: u32,
}

impl RateLimit {
    fn admits(&self, place: &Metadata<'_>, now: Stamp) -> bool {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let place = places.entry(place.callsite()).or_default();
        if now.since(place.second).as_duration() >= Duration::from_secs(1) {
            *place = Place { second: now, lines: 0 };
        }
        place.lines += 1;
        place.lines <= LINES_A_SECOND
    }
}

impl<S: Subscriber> Filter<S> for RateLimit {
    fn enabled(&self, _: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        true
    }

    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        self.admits(event.metadata(), weir_proxy::monotonic())
    }
}
