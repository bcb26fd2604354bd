//! A record, from the first moment on that is known by the calendar.

use std::collections::BTreeSet;

use weir_analysis::alert::Transition;
use weir_analysis::observatory::ObservatoryConfig;
use weir_analysis::time::Epoch;
use weir_core::exchange::WallTime;
use weir_core::observation::Observation;
use weir_core::timeline::Stamp;

use super::course::{Course, Judged, stamp};

/// As many observations may come before the first that tells the time by the calendar, as all but pulses do.
const MOST_WAITING: usize = 100_000;

/// Replays observations in their order.
pub(crate) struct Replay {
    config: ObservatoryConfig,
    /// Pulses from before the time is known.
    waiting: Vec<Observation>,
    course: Option<Course>,
}

impl Replay {
    pub(crate) const fn new(config: ObservatoryConfig) -> Self {
        Self { config, waiting: Vec::new(), course: None }
    }

    /// Takes in an observation. Says which alerts changed.
    ///
    /// # Errors
    ///
    /// When too many came before the time is known.
    pub(crate) fn observe(&mut self, observation: Observation) -> Result<Vec<Transition>, String> {
        if let Some(course) = &mut self.course {
            return Ok(course.observe(&observation));
        }
        let Some(known) = known(&observation) else {
            self.waiting.push(observation);
            let too_many = self.waiting.len() > MOST_WAITING;
            return if too_many { Err(timeless(self.waiting.len())) } else { Ok(Vec::new()) };
        };
        // It begins with the earliest that it tells of.
        let first = self.waiting.iter().map(stamp).fold(known.mono, Stamp::min);
        let epoch = Epoch { mono: first, wall: WallTime(known.moment(first).0) };
        let mut course = Course::new(self.config.clone(), epoch);
        let mut changed = Vec::new();
        for observation in std::mem::take(&mut self.waiting).iter().chain([&observation]) {
            changed.extend(course.observe(observation));
        }
        self.course = Some(course);
        Ok(changed)
    }

    /// The record is over.
    ///
    /// # Errors
    ///
    /// When the time was never known.
    pub(crate) fn end(&mut self) -> Result<Vec<Transition>, String> {
        match &mut self.course {
            Some(course) => Ok(course.end()),
            None if self.waiting.is_empty() => Ok(Vec::new()),
            None => Err(timeless(self.waiting.len())),
        }
    }

    pub(super) fn judged(&self) -> Judged {
        self.course.as_ref().map(Course::judged).unwrap_or_default()
    }

    /// Alerts that there was never a figure for.
    pub(super) fn dataless(&self) -> BTreeSet<Box<str>> {
        match &self.course {
            Some(course) => course.dataless().clone(),
            None => self.config.rules.rules().iter().map(|rule| rule.name.clone()).collect(),
        }
    }
}

/// A moment by both clocks; pulses tell of one alone.
fn known(observation: &Observation) -> Option<Epoch> {
    match observation {
        Observation::Exchange(exchange) => {
            Some(Epoch { mono: exchange.received_mono, wall: exchange.received })
        }
        Observation::Tick(tick) => Some(Epoch { mono: tick.at, wall: tick.wall }),
        Observation::Landmark(landmark) => Some(Epoch { mono: landmark.at, wall: landmark.wall }),
        Observation::Pulse(_) => None,
    }
}

fn timeless(many: usize) -> String {
    format!("none of the first {many} observations tells the time by the calendar: they are all pulses")
}
