//! Observations told to an observatory again, second by second.

use std::collections::BTreeSet;
use std::time::Duration;

use weir_analysis::alert::Transition;
use weir_analysis::observatory::{Observatory, ObservatoryConfig};
use weir_analysis::time::{Epoch, Moment};
use weir_core::exchange::WallTime;
use weir_core::observation::{LandmarkEvent, Observation, Tick};
use weir_core::timeline::Stamp;

use super::untold::untold;

/// How often a running Weir judges.
const SECOND: Duration = Duration::from_secs(1);

/// Where no ticks are recorded and nothing else was for longer, nobody is taken to have looked.
const LONGEST_LULL: Duration = Duration::from_secs(3_600);

/// The course of a record from a moment on that is known by both clocks.
pub(super) struct Course {
    observatory: Observatory,
    epoch: Epoch,
    /// The second that is due; `None` once the record tells of seconds itself.
    due: Option<Stamp>,
    /// Alerts that cannot be judged without ticks of the record.
    untold: Vec<Box<str>>,
    /// Alerts that there was never a figure for.
    dataless: BTreeSet<Box<str>>,
    judged: Judged,
}

/// When alerts were judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Judged {
    /// How often.
    pub(super) times: u64,
    /// As many of these at seconds that the record does not tell of.
    pub(super) own: u64,
    /// First and last.
    pub(super) span: Option<(Moment, Moment)>,
}

impl Course {
    pub(super) fn new(config: ObservatoryConfig, epoch: Epoch) -> Self {
        let untold = untold(&config);
        let dataless = config.rules.rules().iter().map(|rule| rule.name.clone()).collect();
        let observatory = Observatory::new(config, epoch);
        let due = Some(later(epoch.mono, SECOND));
        Self { observatory, epoch, due, untold, dataless, judged: Judged::default() }
    }

    /// Goes on by an observation. Says which alerts changed on the way.
    pub(super) fn observe(&mut self, observation: &Observation) -> Vec<Transition> {
        let mut changed = self.seconds_before(observation);
        match observation {
            Observation::Tick(tick) => {
                self.due = None;
                changed.extend(self.judge(observation, tick.at));
            }
            Observation::Landmark(landmark) => {
                // Forms that have landmarks have ticks.
                self.due = None;
                if landmark.event == LandmarkEvent::Started {
                    // The observatory goes by the clock of the new process, too.
                    self.epoch = Epoch { mono: landmark.at, wall: landmark.wall };
                }
                changed.extend(self.observatory.observe(observation));
            }
            _ => changed.extend(self.observatory.observe(observation)),
        }
        changed
    }

    /// The record is over.
    pub(super) fn end(&mut self) -> Vec<Transition> {
        self.due.map_or_else(Vec::new, |due| self.second(due))
    }

    pub(super) const fn judged(&self) -> Judged {
        self.judged
    }

    /// Alerts that there was never a figure for.
    pub(super) const fn dataless(&self) -> &BTreeSet<Box<str>> {
        &self.dataless
    }

    /// Judges at the seconds that have passed where the record does not tell of them.
    fn seconds_before(&mut self, observation: &Observation) -> Vec<Transition> {
        let at = stamp(observation);
        let mut changed = Vec::new();
        let Some(begin) = self.due.filter(|due| *due <= at) else { return changed };
        let until = at.min(later(begin, LONGEST_LULL));
        while let Some(due) = self.due.filter(|due| *due <= until) {
            changed.extend(self.second(due));
            self.due = Some(later(due, SECOND));
        }
        if until < at {
            self.due = Some(at);
        }
        changed
    }

    /// Judges at a second that the record does not tell of.
    fn second(&mut self, at: Stamp) -> Vec<Transition> {
        self.judged.own += 1;
        let wall = WallTime(self.epoch.moment(at).0);
        let tick = Tick { at, wall, ..Tick::default() };
        let mut changed = self.judge(&Observation::Tick(Box::new(tick)), at);
        changed.retain(|transition| !self.untold.contains(&transition.alert));
        changed
    }

    fn judge(&mut self, tick: &Observation, at: Stamp) -> Vec<Transition> {
        let changed = self.observatory.observe(tick);
        let at = self.epoch.moment(at);
        self.judged.times += 1;
        self.judged.span = Some((self.judged.span.map_or(at, |(first, _)| first), at));
        if !self.dataless.is_empty() {
            for alert in self.observatory.alerts().iter().filter(|alert| !alert.no_data) {
                self.dataless.remove(&alert.name);
            }
        }
        changed
    }
}

/// When it was made, by the monotonic clock.
pub(super) fn stamp(observation: &Observation) -> Stamp {
    match observation {
        Observation::Exchange(exchange) => exchange.received_mono.plus(exchange.duration()),
        Observation::Pulse(pulse) => pulse.at,
        Observation::Tick(tick) => tick.at,
        Observation::Landmark(landmark) => landmark.at,
    }
}

fn later(stamp: Stamp, by: Duration) -> Stamp {
    stamp.plus(by.into())
}
