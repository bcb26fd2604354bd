//! What a queue does, and why: too many come, too few leave, or a burst is being worked off.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Reading, Readings};

/// What the present is judged by.
const RECENT: Duration = Duration::from_secs(15);

/// What a trend is read from: the mean of this long, at both ends of [`RECENT`].
const EDGE: Duration = Duration::from_secs(5);

/// What came before a queue grew is looked at for this long.
const BEFORE: Duration = Duration::from_secs(60);

/// A shorter time before says nothing of what is usual.
const LEAST_BEFORE: Duration = Duration::from_secs(10);

/// A queue that is shorter than this on average is none.
const SHORT: f64 = 1.0;

/// A queue of this share of its present depth is where it began to grow.
const ONSET: f64 = 0.1;

/// A depth changes by chance alone as the number that comes and goes does. A change by less than so many
/// standard deviations of that (the root of the number, as if each came by itself) is none.
const SIGNIFICANT: f64 = 2.0;

/// What a queue does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueState {
    /// Nobody waits, or hardly anybody.
    Empty,
    /// It neither grows nor shrinks.
    Steady,
    /// It grows, or is full, because more come than before.
    Flood,
    /// It grows, or is full, because fewer leave the upstream than before.
    Collapse,
    /// It shrinks: what came at once is being worked off.
    Absorbing,
    /// It grows, or is full, for longer than is remembered: which of the two it is cannot be told.
    Overloaded,
}

/// What a queue does, with the figures that tell so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueueVerdict {
    /// What it does.
    pub state: QueueState,
    /// Mean depth of the last 5 s.
    pub depth: Option<f64>,
    /// How much deeper it gets, in requests per second, over the last 15 s; negative while it shrinks.
    pub growth_per_s: Option<f64>,
    /// Arrivals per second: before it began to grow, and since.
    pub arrivals_per_s: BeforeAndSince,
    /// Requests that left the upstream per second: before it began to grow, and since.
    pub completions_per_s: BeforeAndSince,
    /// Mean seconds at the upstream: before it began to grow, and since.
    pub service_time_s: BeforeAndSince,
    /// When it will be empty at the present pace, in seconds from now; only while it shrinks.
    pub empty_in_s: Option<f64>,
    /// The same in plain words.
    pub text: String,
}

/// A figure before and since something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BeforeAndSince {
    /// Before.
    pub before: Option<f64>,
    /// Since.
    pub since: Option<f64>,
}

impl Readings {
    /// What the queue does now.
    pub(super) fn verdict(&self) -> QueueVerdict {
        let mut verdict = QueueVerdict {
            state: QueueState::Empty,
            depth: None,
            growth_per_s: None,
            arrivals_per_s: BeforeAndSince::default(),
            completions_per_s: BeforeAndSince::default(),
            service_time_s: BeforeAndSince::default(),
            empty_in_s: None,
            text: String::new(),
        };
        if let (Some(edge), Some(recent), Some(newest)) = (self.back(EDGE), self.back(RECENT), self.newest())
        {
            verdict.depth = edge.mean_queued(newest);
            self.judge(&mut verdict, recent, newest);
        }
        verdict.text = verdict.words();
        verdict
    }

    fn judge(&self, verdict: &mut QueueVerdict, recent: &Reading, newest: &Reading) {
        let turned_away = newest.lane.turned_away() > recent.lane.turned_away();
        let Some(depth) = verdict.depth.filter(|depth| *depth >= SHORT || turned_away) else { return };
        let (Some(came), Some(went)) = (recent.arrivals_per_s(newest), recent.completions_per_s(newest))
        else {
            return;
        };
        let growth = self.growth(recent, newest);
        verdict.growth_per_s = growth;
        let passed = (came + went) * newest.at.since(recent.at).as_secs_f64();
        let change =
            growth.unwrap_or_default() * (RECENT - EDGE).as_secs_f64() / (SIGNIFICANT * passed.sqrt());
        let onset = self.onset(depth);
        verdict.compare(self, onset, newest);
        verdict.state = if change <= -1.0 && came < went {
            verdict.empty_in_s = Some(depth / (went - came));
            QueueState::Absorbing
        } else if change < 1.0 && !turned_away {
            QueueState::Steady
        } else {
            verdict.cause()
        };
    }

    /// How much the depth changed per second, from one edge of the recent past to the other.
    fn growth(&self, recent: &Reading, newest: &Reading) -> Option<f64> {
        let late = self.back(EDGE)?;
        let early = self.back(RECENT - EDGE)?;
        let between = newest.at.since(early.at).as_secs_f64();
        let change = late.mean_queued(newest)? - recent.mean_queued(early)?;
        (between > 0.0).then(|| change / between)
    }

    /// The last reading at which the queue was short beside what it is now.
    fn onset(&self, depth: f64) -> Option<usize> {
        let short = (depth * ONSET).max(SHORT);
        self.0.iter().rposition(|reading| reading.lane.queued as f64 <= short)
    }
}

impl QueueVerdict {
    /// Fills in the figures before and since the queue began to grow.
    fn compare(&mut self, readings: &Readings, onset: Option<usize>, newest: &Reading) {
        let began = onset.and_then(|index| readings.0.get(index)).or_else(|| readings.0.front());
        // A queue that is all but empty again began to be so just now, from which nothing can be told.
        let told = began.filter(|began| newest.at.since(began.at) >= EDGE);
        let Some(began) = told.or_else(|| readings.back(EDGE)) else { return };
        let before = readings.0.iter().find(|reading| began.at.since(reading.at) <= BEFORE);
        let before = before.filter(|before| onset.is_some() && began.at.since(before.at) >= LEAST_BEFORE);
        let both = |of: fn(&Reading, &Reading) -> Option<f64>| BeforeAndSince {
            before: before.and_then(|before| of(before, began)),
            since: of(began, newest),
        };
        self.arrivals_per_s = both(Reading::arrivals_per_s);
        self.completions_per_s = both(Reading::completions_per_s);
        self.service_time_s = both(Reading::time_at_upstream);
    }

    /// Why it grows. Before it did, as many left as came; so the larger of both ratios is the cause.
    fn cause(&self) -> QueueState {
        let (Some(usual), Some(came)) = (self.arrivals_per_s.before, self.arrivals_per_s.since) else {
            return QueueState::Overloaded;
        };
        let Some(went) = self.completions_per_s.since.filter(|_| usual > 0.0) else {
            return QueueState::Overloaded;
        };
        // Both as multiples of what was usual: came ÷ usual against usual ÷ went.
        if came * went >= usual * usual { QueueState::Flood } else { QueueState::Collapse }
    }

    fn words(&self) -> String {
        let number =
            |value: Option<f64>| value.map_or_else(|| "unknown".to_owned(), |value| format!("{value:.1}"));
        let (arrivals, completions) = (&self.arrivals_per_s, &self.completions_per_s);
        let (depth, growth) = (number(self.depth), number(self.growth_per_s));
        match self.state {
            QueueState::Empty => "nobody waits".to_owned(),
            QueueState::Steady => format!(
                "{depth} wait, steadily: {}/s come and {}/s leave",
                number(arrivals.since),
                number(completions.since)
            ),
            QueueState::Flood => format!(
                "flood: {}/s come instead of {}/s, while {}/s leave; {depth} wait, {growth}/s more",
                number(arrivals.since),
                number(arrivals.before),
                number(completions.since)
            ),
            QueueState::Collapse => format!(
                "collapse: {}/s leave instead of {}/s ({} s each instead of {} s), while {}/s come; {depth} wait, {growth}/s more",
                number(completions.since),
                number(completions.before),
                number(self.service_time_s.since),
                number(self.service_time_s.before),
                number(arrivals.since)
            ),
            QueueState::Absorbing => {
                format!("a burst is being absorbed: {depth} wait, empty in {} s", number(self.empty_in_s))
            }
            QueueState::Overloaded => format!(
                "overloaded for as long as is remembered: {}/s come and {}/s leave; {depth} wait",
                number(arrivals.since),
                number(completions.since)
            ),
        }
    }
}
