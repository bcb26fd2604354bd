//! A search for the highest load and the knee, over curves whose optimum is known.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::{Future, ready};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use weir_load::bench::sweep::{Highest, Probe, Search, Sweep, sweep};

/// A queue with `servers` servers of unit speed: Erlang's M/M/c. Beyond its capacity what gets through is the
/// capacity, and the latency is that of a long run.
fn queue(servers: u32, load: f64) -> (f64, f64) {
    let capacity = f64::from(servers);
    if load >= capacity {
        return (capacity, 1000.0 * load / capacity);
    }
    // The chance to wait (Erlang C), from the recursion of Erlang B.
    let blocked = (1..=servers).fold(1.0, |b, nth| load * b / (f64::from(nth) + load * b));
    let waits = blocked / (1.0 - load / capacity * (1.0 - blocked));
    (load, 1.0 + waits / (capacity - load))
}

/// The load at which `figure` is greatest, on a fine grid.
fn optimum(to: f64, figure: impl Fn(f64) -> f64) -> f64 {
    let loads = (1..20_000).map(|nth| to * f64::from(nth) / 20_000.0);
    loads.max_by(|a, b| figure(*a).total_cmp(&figure(*b))).unwrap()
}

fn power(servers: u32, load: f64) -> f64 {
    let (throughput, latency) = queue(servers, load);
    throughput / latency
}

/// The highest load of a latency of at most `limit`.
fn limit_load(servers: u32, limit: f64) -> f64 {
    optimum(f64::from(servers), |load| if queue(servers, load).1 <= limit { load } else { 0.0 })
}

fn searched(search: Search, mut probe: impl FnMut(f64) -> Probe) -> Sweep {
    let search = sweep(search, async |load| ready(Ok::<_, Infallible>(probe(load))).await);
    match pin!(search).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(found)) => found,
        other => panic!("{other:?}"),
    }
}

/// Searches a queue whose measured latency and throughput stray by `noise`.
fn search_queue(search: Search, servers: u32, limit: f64, noise: f64, seed: u64) -> Sweep {
    let mut rng = StdRng::seed_from_u64(seed);
    searched(search, |load| {
        let (throughput, latency) = queue(servers, load);
        let latency = latency * (1.0 + noise * rng.random_range(-1.0..=1.0));
        let throughput = throughput * (1.0 + noise * rng.random_range(-1.0..=1.0));
        let figures = BTreeMap::from([("latency".to_owned(), latency)]);
        Probe { throughput, latency_s: Some(latency), meets_slo: latency <= limit, figures }
    })
}

#[test]
fn the_highest_load_and_the_knee_are_those_of_the_model() {
    for (servers, limit) in [(1, 5.0), (4, 2.0), (64, 1.5)] {
        let truth = limit_load(servers, limit);
        for start in [0.1, 1.0, 1000.0] {
            let found = search_queue(Search { start, ..Search::default() }, servers, limit, 0.0, 1);
            let Highest::Between { met, missed } = found.highest else { panic!("{:?}", found.highest) };
            assert!(
                met <= truth * 1.0001 && missed >= truth && missed / met <= 1.05,
                "{met} {truth} {missed}"
            );
            let (knee, best) =
                (found.knee.unwrap(), optimum(f64::from(servers), |load| power(servers, load)));
            assert!((0.9..1.1).contains(&(knee.load / best)), "{servers} servers: {} for {best}", knee.load);
            assert!(knee.power >= 0.99 * power(servers, best));
            assert!(found.curve.len() <= 32, "{}", found.curve.len());
        }
    }
    // M/M/1 has its greatest power at half its capacity.
    assert!((optimum(1.0, |load| power(1, load)) - 0.5).abs() < 1e-3);
}

#[test]
fn noise_moves_the_answer_by_no_more_than_it_is() {
    for seed in 0..20 {
        let found = search_queue(Search::default(), 64, 1.5, 0.03, seed);
        let Highest::Between { met, missed } = found.highest else { panic!("{:?}", found.highest) };
        // 3 % of latency either way is worth these loads.
        let (low, high) = (limit_load(64, 1.5 / 1.03), limit_load(64, 1.5 / 0.97));
        assert!(met <= high * 1.0001 && missed >= low && missed / met <= 1.05, "{low} {met} {missed} {high}");
        let best = power(64, optimum(64.0, |load| power(64, load)));
        assert!(power(64, found.knee.unwrap().load) > 0.9 * best, "{:?}", found.knee);
    }
}

#[test]
fn one_bad_run_does_not_end_the_search() {
    let mut runs = 0;
    let found = searched(Search::default(), |load| {
        runs += 1;
        Probe {
            throughput: load,
            latency_s: None,
            meets_slo: runs != 3 && load < 50.0,
            figures: BTreeMap::new(),
        }
    });
    let Highest::Between { met, missed } = found.highest else { panic!("{:?}", found.highest) };
    assert!(met < 50.0 && missed >= 50.0);
    assert_eq!(found.knee, None);
    let loads: Vec<f64> = found.curve.iter().map(|point| point.load).collect();
    assert_eq!(loads[..9], [1.0, 2.0, 4.0, 4.0, 8.0, 16.0, 32.0, 64.0, 64.0]);
}

#[test]
fn the_search_ends_without_limits_or_without_hope() {
    let probe =
        |throughput, meets_slo| Probe { throughput, latency_s: None, meets_slo, figures: BTreeMap::new() };
    // The throughput grows no more from 16 on.
    let found = searched(Search::default(), |load| probe(load.min(16.0), true));
    assert_eq!((found.highest, found.curve.len()), (Highest::AtLeast(32.0), 6));
    let bounds = (0.25, 6.0);
    let found = searched(Search { bounds, ..Search::default() }, |load| probe(load, true));
    assert_eq!((found.highest, found.curve.len()), (Highest::AtLeast(6.0), 4));
    let found = searched(Search { bounds, ..Search::default() }, |load| probe(load, false));
    assert_eq!((found.highest, found.curve.len()), (Highest::Below(0.25), 4));
}

#[test]
fn there_are_never_more_probes_than_allowed() {
    for probes in 0..40 {
        let search = Search { probes, step: 0.0, ..Search::default() };
        let found = search_queue(search, 64, 1.5, 0.5, probes as u64);
        assert!(found.curve.len() <= probes, "{} of {probes}", found.curve.len());
    }
}

/// Clients that ask again: `n` of them at an engine whose steps take `base`, and `slope` more for each of them.
#[test]
fn clients_are_counted_in_whole_numbers() {
    let (base, slope) = (10.0, 0.5);
    let limit = 24.9;
    for start in [1.0, 3.4, 100.0] {
        let mut tried = Vec::new();
        let search = Search { start, bounds: (1.0, 4096.0), whole: true, ..Search::default() };
        let found = searched(search, |clients| {
            tried.push(clients);
            let latency = base + slope * clients;
            Probe {
                throughput: clients / latency,
                latency_s: Some(latency),
                meets_slo: latency <= limit,
                figures: BTreeMap::new(),
            }
        });
        assert!(tried.iter().all(|clients| clients.fract() == 0.0), "{tried:?}");
        // 29 are the most within the limit: 10 + 29 × 0.5 = 24.5. n ÷ latency² is greatest at base ÷ slope = 20.
        let Highest::Between { met, missed } = found.highest else { panic!("{:?}", found.highest) };
        assert!(met <= 29.0 && 29.0 < missed && missed / met <= 1.05, "from {start}: {met}, {missed}");
        let knee = found.knee.unwrap().load;
        assert!((knee / 20.0 - 1.0).abs() <= 0.05, "from {start}: the knee at {knee}");
    }
}
