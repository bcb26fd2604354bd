//! Whether anything comes out: an engine can accept requests, look healthy, and serve nobody.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_core::exchange::{Exchange, Side};
use weir_core::inflight::Phase;
use weir_core::observation::{InFlight, Silence};
use weir_core::outcome::Outcome;

use crate::time::Moment;

/// Follows whether requests in flight get anywhere.
#[derive(Clone, Debug)]
pub struct ProgressWatch {
    alarm_after: Duration,
    /// When something last came out, or when there was last nothing to come.
    moved: Option<Moment>,
    in_flight: InFlight,
}

/// What is in flight, and whether it gets anywhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// Requests waiting for admission.
    pub queued: u64,
    /// Admitted, and no response head has come.
    pub waiting: u64,
    /// The response head came, a first token has not.
    pub prefill: u64,
    /// Output is flowing.
    pub decode: u64,
    /// Streams that have put out a token and then stood still for longer than `stall_after`.
    pub stalled: u64,
    /// How long requests have been at the upstream while not one of them got a token or an end, in
    /// seconds. Absent while none is there.
    pub no_progress_s: Option<f64>,
    /// Whether that is longer than `no_progress_after`: the upstream is up and does not serve.
    pub alarm: bool,
    /// Those that have stood still the longest, the longest first.
    pub silent: Vec<Silent>,
}

/// An exchange in flight that does not move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Silent {
    /// The ordinal of the exchange.
    pub id: u64,
    /// The model asked for.
    pub model: Option<String>,
    /// `waiting`, `prefill` or `decode`.
    pub phase: String,
    /// How long ago its request came, in seconds.
    pub age_s: f64,
    /// How long nothing has moved, in seconds.
    pub silent_s: f64,
    /// Which side is silent: `upstream` or `downstream`.
    pub side: String,
    /// Tokens so far.
    pub tokens: u64,
}

impl ProgressWatch {
    /// Raises the alarm after so long without progress.
    pub fn new(alarm_after: Duration) -> Self {
        Self { alarm_after, moved: None, in_flight: InFlight::default() }
    }

    /// An exchange came to its end by the upstream's doing at `at`.
    pub fn exchange(&mut self, exchange: &Exchange, at: Moment) {
        if matches!(exchange.outcome, Outcome::Completed | Outcome::UpstreamError | Outcome::StreamError) {
            self.tokens(at);
        }
    }

    /// Tokens came at `at`.
    pub fn tokens(&mut self, at: Moment) {
        self.moved = self.moved.max(Some(at));
    }

    /// What is in flight at `at`.
    pub fn tick(&mut self, at: Moment, in_flight: &InFlight) {
        self.in_flight = in_flight.clone();
        if self.at_upstream() == 0 || self.moved.is_none() {
            self.moved = Some(at);
        }
    }

    /// How long nothing has come out, while something should.
    pub fn silence(&self, now: Moment) -> Option<Duration> {
        (self.at_upstream() > 0).then(|| self.moved.map(|moved| now.since(moved)))?
    }

    /// How many streams stand still in mid-stream.
    pub fn stalled(&self) -> u64 {
        self.in_flight.stalled
    }

    /// The longest silence in flight; absent where none is listed.
    pub fn longest_silence(&self) -> Option<Duration> {
        self.in_flight.silent.first().map(|silence| silence.length.as_duration())
    }

    /// What is known at `now`.
    pub fn status(&self, now: Moment) -> Progress {
        let [queued, waiting, prefill, decode] = self.in_flight.phases;
        let silence = self.silence(now);
        Progress {
            queued,
            waiting,
            prefill,
            decode,
            stalled: self.in_flight.stalled,
            no_progress_s: silence.map(|silence| silence.as_secs_f64()),
            alarm: silence.is_some_and(|silence| silence >= self.alarm_after),
            silent: self.in_flight.silent.iter().map(Silent::from).collect(),
        }
    }

    fn at_upstream(&self) -> u64 {
        let phases = &self.in_flight.phases;
        [Phase::Waiting, Phase::Prefill, Phase::Decode].into_iter().map(|phase| phases[phase as usize]).sum()
    }
}

impl From<&Silence> for Silent {
    fn from(silence: &Silence) -> Self {
        Self {
            id: silence.id.0,
            model: silence.model.as_deref().map(str::to_owned),
            phase: silence.phase.as_str().to_owned(),
            age_s: silence.age.as_secs_f64(),
            silent_s: silence.length.as_secs_f64(),
            side: match silence.side {
                Side::Upstream => "upstream",
                Side::Downstream => "downstream",
            }
            .to_owned(),
            tokens: silence.tokens,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use weir_core::exchange::{ExchangeId, Side};
    use weir_core::inflight::Phase;
    use weir_core::observation::{InFlight, Silence};
    use weir_core::timeline::Offset;

    use super::ProgressWatch;
    use crate::time::Moment;

    const S: u64 = 1_000_000_000;

    fn with(prefill: u64) -> InFlight {
        InFlight { phases: [3, 0, prefill, 0], ..InFlight::default() }
    }

    #[test]
    fn the_alarm_is_raised_after_its_time_and_a_token_ends_it() {
        let mut watch = ProgressWatch::new(Duration::from_secs(30));
        watch.tick(Moment(0), &with(0));
        assert_eq!(watch.status(Moment(0)).no_progress_s, None);
        watch.tick(Moment(10 * S), &with(0));
        for second in 11..40 {
            watch.tick(Moment(second * S), &with(2));
            let status = watch.status(Moment(second * S));
            assert_eq!(status.no_progress_s, Some((second - 10) as f64));
            assert!(!status.alarm, "{second}");
        }
        assert!(watch.status(Moment(40 * S)).alarm);
        watch.tokens(Moment(41 * S));
        let status = watch.status(Moment(42 * S));
        assert_eq!((status.no_progress_s, status.alarm), (Some(1.0), false));
        // Those in the queue wait for Weir, and not for the upstream.
        watch.tick(Moment(90 * S), &with(0));
        assert_eq!(watch.status(Moment(90 * S)).no_progress_s, None);
    }

    #[test]
    fn silent_ones_are_told_with_their_side() {
        let mut watch = ProgressWatch::new(Duration::from_secs(30));
        let silence = Silence {
            id: ExchangeId(7),
            model: Some("m".into()),
            phase: Phase::Decode,
            age: Offset(9 * S),
            length: Offset(4 * S),
            side: Side::Downstream,
            tokens: 12,
        };
        let in_flight = InFlight { phases: [0, 0, 0, 1], stalled: 1, silent: vec![silence] };
        watch.tick(Moment(S), &in_flight);
        let status = watch.status(Moment(S));
        let silent = &status.silent[0];
        assert_eq!((silent.side.as_str(), silent.age_s, silent.silent_s), ("downstream", 9.0, 4.0));
        assert_eq!((status.stalled, watch.longest_silence()), (1, Some(Duration::from_secs(4))));
    }
}
