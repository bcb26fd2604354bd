//! Searches the highest load that meets its limits, and the knee of the curve of throughput and latency.

use std::collections::BTreeMap;

/// What a run at one load showed.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// What got through, per second: requests or tokens, the same in all probes.
    pub throughput: f64,
    /// The mean latency of a request, in seconds, where any was answered.
    pub latency_s: Option<f64>,
    /// Whether all limits were met.
    pub meets_slo: bool,
    /// Any figures of the run, by name.
    pub figures: BTreeMap<String, f64>,
}

/// A probe and its load.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The load, in the unit of the search: requests per second, or clients.
    pub load: f64,
    /// What it showed.
    pub probe: Probe,
}

/// What is searched, and with how many runs at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// The first load.
    pub start: f64,
    /// The lowest and the highest load that may be tried.
    pub bounds: (f64, f64),
    /// How near the end the loads that meet and that miss the limits have to come: 0.05 is 5 %.
    pub step: f64,
    /// The most probes.
    pub probes: usize,
    /// Loads are whole numbers, as those of clients are.
    pub whole: bool,
}

impl Search {
    /// The nearest load that can be had.
    fn rounded(self, load: f64) -> f64 {
        if self.whole { load.round() } else { load }
    }

    /// The load to try between two of which one follows the other. `None`: they are near enough.
    fn between(self, low: f64, high: f64) -> Option<f64> {
        let load = self.rounded((low * high).sqrt());
        (high / low > 1.0 + self.step.max(0.001) && low < load && load < high).then_some(load)
    }
}

impl Default for Search {
    fn default() -> Self {
        Self { start: 1.0, bounds: (1.0 / 64.0, 65536.0), step: 0.05, probes: 32, whole: false }
    }
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// All probes, in the order in which they were made.
    pub curve: Vec<Point>,
    /// The highest load that meets the limits.
    pub highest: Highest,
    /// The load with the greatest power, and that power.
    pub knee: Option<Knee>,
}

/// The highest load that meets the limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Highest {
    /// Here they were met, and missed at the lowest load above that was tried.
    Between {
        /// The highest load that met them.
        met: f64,
        /// The lowest load above it that missed them.
        missed: f64,
    },
    /// They were met at every load that was tried; the throughput grew no more, or no higher load was allowed.
    AtLeast(f64),
    /// They were missed at every load that was tried, down to this one.
    Below(f64),
}

impl Highest {
    /// Probes for the knee may have come between.
    fn narrowed(self, curve: &[Point]) -> Self {
        let Self::Between { met, missed } = self else { return self };
        let between = curve.iter().filter(|point| point.load > met && point.load < missed);
        let missed =
            between.filter(|point| !point.probe.meets_slo).map(|point| point.load).fold(missed, f64::min);
        let above = curve.iter().filter(|point| point.load > met && point.load < missed);
        let met = above.map(|point| point.load).fold(met, f64::max);
        Self::Between { met, missed }
    }
}

/// The knee of the curve of throughput and latency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// The load.
    pub load: f64,
    /// Its power: throughput ÷ latency.
    pub power: f64,
}

/// A throughput that grows by less while the load doubles has met its end.
const SATURATED: f64 = 1.05;

/// Probes kept back for the knee while the highest load is searched.
const FOR_KNEE: usize = 6;

/// Doubles the load until the limits are missed (halves it, if they are missed at first), then halves the gap between
/// met and missed until it is within the step. The first load that misses them is tried once more, so that a single
/// bad run does not end the search far too early. What is left of the probes goes to the knee.
///
/// The knee is the load of the greatest power, throughput ÷ mean latency, after Kleinrock: below it latency is given
/// away for little, above it throughput. Other than the greatest distance from a chord (kneedle) it does not depend
/// on which loads were tried or how the axes are scaled. Near its greatest value power changes little with load: where
/// probes are noisy the knee's power is much surer than its load.
pub async fn sweep<E>(search: Search, probe: impl AsyncFnMut(f64) -> Result<Probe, E>) -> Result<Sweep, E> {
    let mut run = Run { search, probe, curve: Vec::new() };
    let highest = match run.bracket().await? {
        Highest::Between { met, missed } => run.bisect(met, missed).await?,
        other => other,
    };
    run.refine_knee().await?;
    let knee = run.knee().map(|(knee, _)| knee);
    let highest = highest.narrowed(&run.curve);
    Ok(Sweep { curve: run.curve, highest, knee })
}

struct Run<P> {
    search: Search,
    probe: P,
    curve: Vec<Point>,
}

impl<E, P: AsyncFnMut(f64) -> Result<Probe, E>> Run<P> {
    /// Tries a load; gives what got through and whether the limits were met. `None`: no probe is left, `kept` aside.
    async fn try_load(&mut self, load: f64, kept: usize) -> Result<Option<(f64, bool)>, E> {
        if self.curve.len() + kept >= self.search.probes {
            return Ok(None);
        }
        let probe = (self.probe)(load).await?;
        let seen = (probe.throughput, probe.meets_slo);
        self.curve.push(Point { load, probe });
        Ok(Some(seen))
    }

    /// Finds a load that meets the limits and one of at most twice as much that misses them.
    async fn bracket(&mut self) -> Result<Highest, E> {
        let (lowest, highest) = self.search.bounds;
        let mut load = self.search.rounded(self.search.start.max(lowest).min(highest));
        let kept = FOR_KNEE.min(self.search.probes / 2);
        let (mut met, mut missed): (Option<(f64, f64)>, Option<f64>) = (None, None);
        loop {
            let Some((mut throughput, mut meets)) = self.try_load(load, kept).await? else { break };
            if !meets
                && missed.is_none()
                && let Some(again) = self.try_load(load, kept).await?
            {
                (throughput, meets) = again;
            }
            let before = if meets { met.replace((load, throughput)) } else { None };
            if !meets {
                missed = Some(load);
            }
            let saturated = before.is_some_and(|(_, before)| throughput < before * SATURATED);
            let next =
                if meets { (load * 2.0).min(highest) } else { self.search.rounded(load / 2.0).max(lowest) };
            if (met.is_some() && missed.is_some()) || saturated || next == load {
                break;
            }
            load = next;
        }
        Ok(match (met, missed) {
            (Some((met, _)), Some(missed)) => Highest::Between { met, missed },
            (Some((met, _)), None) => Highest::AtLeast(met),
            (None, missed) => Highest::Below(missed.unwrap_or(load)),
        })
    }

    /// Closes in on the highest load.
    async fn bisect(&mut self, mut met: f64, mut missed: f64) -> Result<Highest, E> {
        let kept = FOR_KNEE.min(self.search.probes / 2);
        while let Some(load) = self.search.between(met, missed) {
            match self.try_load(load, kept).await? {
                Some((_, true)) => met = load,
                Some((_, false)) => missed = load,
                None => break,
            }
        }
        Ok(Highest::Between { met, missed })
    }

    /// Tries loads on both sides of the knee, always in the wider gap, until both are within the step.
    async fn refine_knee(&mut self) -> Result<(), E> {
        while let Some((_, Some(load))) = self.knee() {
            if self.try_load(load, 0).await?.is_none() {
                break;
            }
        }
        Ok(())
    }
}

impl<P> Run<P> {
    /// The knee as known by now, and which load would tell it more sharply.
    fn knee(&self) -> Option<(Knee, Option<f64>)> {
        let points = self.powers();
        let best = (0..points.len()).max_by(|a, b| points[*a].power.total_cmp(&points[*b].power))?;
        let knee = points[best];
        let above = points.get(best + 1).map(|next| (knee.load, next.load));
        let below = best.checked_sub(1).and_then(|nth| points.get(nth)).map(|next| (next.load, knee.load));
        // At an end of the curve nothing is known of what lies beyond it: a step of two is tried there.
        let (lowest, highest) = self.search.bounds;
        let gaps = [
            below.unwrap_or(((knee.load / 4.0).max(lowest), knee.load)),
            above.unwrap_or((knee.load, (knee.load * 4.0).min(highest))),
        ];
        let open =
            gaps.into_iter().filter_map(|(low, high)| Some((high / low, self.search.between(low, high)?)));
        let wider = open.max_by(|a, b| a.0.total_cmp(&b.0));
        Some((knee, wider.map(|(_, load)| load)))
    }

    /// The power at each load that was tried, ascending; the mean of those at the same load.
    fn powers(&self) -> Vec<Knee> {
        let power = |point: &Point| {
            let latency = point.probe.latency_s.filter(|latency| *latency > 0.0)?;
            Some(Knee { load: point.load, power: point.probe.throughput / latency })
        };
        let mut powers: Vec<Knee> = self.curve.iter().filter_map(power).collect();
        powers.sort_by(|a, b| a.load.total_cmp(&b.load));
        let same = powers.chunk_by(|a, b| a.load == b.load);
        same.filter_map(|same| {
            let sum: f64 = same.iter().map(|knee| knee.power).sum();
            Some(Knee { load: same.first()?.load, power: sum / same.len() as f64 })
        })
        .collect()
    }
}
