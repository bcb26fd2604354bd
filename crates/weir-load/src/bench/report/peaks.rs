//! The busiest second of a run.

use crate::bench::run::Sample;
use crate::bench::semantics::Semantics;

/// The busiest second of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Peaks {
    /// Tokens in one second. `vllm bench serve` counts events.
    pub(super) tokens_per_s: f64,
    /// Requests at once. `vllm bench serve` counts all that were there at any time of a second.
    pub(super) concurrent: u64,
}

impl Peaks {
    /// Of the samples that count as successes; seconds begin with the first request sent.
    pub(super) fn of(samples: &[&Sample], semantics: Semantics) -> Option<Self> {
        let start_ns = samples.iter().map(|sample| sample.times.sent_ns).min()?;
        let mut tokens: Vec<u64> = Vec::new();
        for sample in samples {
            for arrival in sample.arrivals.iter().filter(|arrival| semantics.counts(arrival)) {
                let carried = arrival.tokens.filter(|_| semantics == Semantics::Weir).unwrap_or(1);
                add(&mut tokens, second(arrival.at_ns, start_ns), u64::from(carried));
            }
        }
        let concurrent = match semantics {
            Semantics::Vllm => by_second(samples, start_ns),
            Semantics::Weir | Semantics::Otel => at_once(samples),
        };
        Some(Peaks { tokens_per_s: tokens.into_iter().max().unwrap_or(0) as f64, concurrent })
    }
}

fn second(at_ns: u64, start_ns: u64) -> usize {
    (at_ns.saturating_sub(start_ns) / 1_000_000_000) as usize
}

fn add(counts: &mut Vec<u64>, at: usize, count: u64) {
    if counts.len() <= at {
        counts.resize(at + 1, 0);
    }
    counts[at] += count;
}

/// As `vllm bench serve` counts: each request in every second that it touches, up to its last token.
fn by_second(samples: &[&Sample], start_ns: u64) -> u64 {
    let mut active = Vec::new();
    for sample in samples {
        let tokens = sample.arrivals.iter().filter(|arrival| arrival.is_vllm_token);
        let last_ns = tokens.map(|arrival| arrival.at_ns).next_back().unwrap_or(sample.times.sent_ns);
        for at in second(sample.times.sent_ns, start_ns)..=second(last_ns, start_ns) {
            add(&mut active, at, 1);
        }
    }
    active.into_iter().max().unwrap_or(0)
}

/// The most requests that were under way at the same moment.
fn at_once(samples: &[&Sample]) -> u64 {
    let mut turns: Vec<(u64, i64)> = Vec::with_capacity(samples.len() * 2);
    for sample in samples {
        turns.extend([(sample.times.sent_ns, 1), (sample.times.ended_ns, -1)]);
    }
    // Where one ends as another begins, the end goes first.
    turns.sort_unstable();
    let (mut now, mut most) = (0i64, 0i64);
    for (_, change) in turns {
        now += change;
        most = most.max(now);
    }
    most.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::backend::Output;
    use crate::bench::run::Arrival;
    use crate::bench::samples::sample;

    fn with_events(mut sample: Sample, millis: &[u64]) -> Sample {
        let event = |ms: &u64| Arrival {
            at_ns: ms * 1_000_000,
            output: Some(Output::Content),
            is_vllm_token: true,
            tokens: Some(2),
        };
        sample.arrivals = millis.iter().map(event).collect();
        sample
    }

    #[test]
    fn the_busiest_second_is_found() {
        // Three events in the first second after 500 ms, two in the second.
        let one = with_events(sample(0, 500, 1600), &[600, 1400, 1550]);
        let other = with_events(sample(1, 1600, 2500), &[1700, 2000]);
        let samples = [&one, &other];
        let vllm = Peaks::of(&samples, Semantics::Vllm).unwrap();
        // The first touches both seconds with its last token at 1550 ms, the second only the other.
        assert_eq!(vllm, Peaks { tokens_per_s: 3.0, concurrent: 2 });
        let weir = Peaks::of(&samples, Semantics::Weir).unwrap();
        assert_eq!(weir, Peaks { tokens_per_s: 6.0, concurrent: 1 });
        assert_eq!(Peaks::of(&[], Semantics::Vllm), None);
    }
}
