//! A run over time, for its plot.

use crate::bench::run::{End, Outcome};

/// A run cut into slices of equal length.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Timeline {
    /// How long each slice is.
    pub(super) slice_s: f64,
    /// Requests sent in each, per second.
    pub(super) sent_per_s: Vec<f64>,
    /// Complete answers in each, per second.
    pub(super) completed_per_s: Vec<f64>,
    /// Events with output in each, per second.
    pub(super) events_per_s: Vec<f64>,
    /// Requests in flight in the middle of each.
    pub(super) in_flight: Vec<f64>,
}

impl Timeline {
    /// In so many slices; `None` for a run of no length.
    pub(super) fn of(outcome: &Outcome, slices: usize) -> Option<Self> {
        let whole_ns = u64::try_from(outcome.duration.as_nanos()).ok().filter(|whole| *whole > 0)?;
        let slice = |at_ns: u64| {
            let at = u128::from(at_ns) * slices as u128 / u128::from(whole_ns);
            (at as usize).min(slices - 1)
        };
        let slice_s = outcome.duration.as_secs_f64() / slices as f64;
        let zeros = vec![0.0; slices];
        let (mut sent, mut completed, mut events) = (zeros.clone(), zeros.clone(), zeros.clone());
        let mut in_flight = zeros;
        for sample in &outcome.samples {
            let times = sample.times;
            sent[slice(times.sent_ns)] += 1.0;
            if sample.end == End::Complete {
                completed[slice(times.ended_ns)] += 1.0;
            }
            for arrival in sample.arrivals.iter().filter(|arrival| arrival.output.is_some()) {
                events[slice(arrival.at_ns)] += 1.0;
            }
            for (nth, count) in in_flight.iter_mut().enumerate() {
                let middle = (nth as f64 + 0.5) * slice_s * 1e9;
                if times.sent_ns as f64 <= middle && middle < times.ended_ns as f64 {
                    *count += 1.0;
                }
            }
        }
        for rates in [&mut sent, &mut completed, &mut events] {
            rates.iter_mut().for_each(|rate| *rate /= slice_s);
        }
        Some(Timeline {
            slice_s,
            sent_per_s: sent,
            completed_per_s: completed,
            events_per_s: events,
            in_flight,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::samples::{outcome, sample};

    #[test]
    fn a_run_is_cut_into_slices() {
        // One from 0 to 1.5 s, one from 1 to 2 s, in four slices of half a second.
        let timeline =
            Timeline::of(&outcome(vec![sample(0, 0, 1500), sample(1, 1000, 2000)], 2000), 4).unwrap();
        assert_eq!(timeline.slice_s, 0.5);
        assert_eq!(timeline.sent_per_s, [2.0, 0.0, 2.0, 0.0]);
        assert_eq!(timeline.completed_per_s, [0.0, 0.0, 0.0, 4.0]);
        assert_eq!(timeline.in_flight, [1.0, 1.0, 2.0, 1.0]);
        assert_eq!(Timeline::of(&outcome(Vec::new(), 0), 4), None);
    }
}
