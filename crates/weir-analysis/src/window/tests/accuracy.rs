use proptest::prelude::*;

use super::super::budget::Budget;
use super::super::figures::Distribution;
use super::super::grid;
use super::super::histogram::Histogram;
use super::super::measure::Unit;

/// The quantiles of the bins are within 1 % of the exact ones, or within half a grain.
fn check(unit: Unit, mut values: Vec<u64>) {
    let mut budget = Budget::new(usize::MAX);
    let mut parts = [Histogram::default(), Histogram::default()];
    for (nth, &raw) in values.iter().enumerate() {
        parts[nth % 2].record(unit.bin(raw), raw, &mut budget);
    }
    let told = Distribution::new([&parts[0], &parts[1]], unit).unwrap();
    values.sort_unstable();
    let half_a_grain = match unit {
        Unit::Time => 0.5 / 1_024_000.0,
        Unit::Tokens => 0.0,
        Unit::Rate => 0.5 / 1_024.0,
    };
    for (q, found) in [(0.5, told.p50), (0.9, told.p90), (0.95, told.p95), (0.99, told.p99)] {
        let rank = ((q * values.len() as f64).ceil() as usize).max(1);
        let exact = unit.told(values[rank - 1] as f64);
        let error = (found.unwrap() - exact).abs();
        assert!(error <= (exact * 0.01).max(half_a_grain * 1.001), "{unit:?} p{q}: {found:?} for {exact}");
    }
    assert_eq!(told.count, values.len() as u64);
    assert_eq!(told.max, unit.told(*values.last().unwrap() as f64));
    let mean = values.iter().map(|&raw| u128::from(raw)).sum::<u128>() as f64 / values.len() as f64;
    assert!((told.mean - unit.told(mean)).abs() <= told.mean * 1e-12);
}

#[test]
fn quantiles_hold_on_adversarial_values() {
    for unit in [Unit::Time, Unit::Tokens, Unit::Rate] {
        // The first and the last value of every bin up to 2^40 grains, where the middle is the furthest away.
        let edges = (0..2_000).flat_map(|bin| {
            let (first, width) = grid::extent(bin);
            [first, first + width - 1]
        });
        let scaled = |grains: u64| match unit {
            Unit::Time => (grains * 125_000).div_ceil(128),
            Unit::Tokens => grains,
            Unit::Rate => (grains * 15_625).div_ceil(16),
        };
        check(unit, edges.clone().map(scaled).collect());
        for grains in edges {
            check(unit, vec![scaled(grains); 3]);
        }
        check(unit, (0..400).map(|n| (1.07_f64.powi(n) * 100.0) as u64).collect());
        check(unit, [vec![1_000; 90], vec![1_000_000_000; 10]].concat());
        check(unit, [vec![1_000; 95], vec![1_000_000_000; 5]].concat());
        check(unit, (1..2_000_u64).map(|n| 1_000_000_000_000 / (n * n)).collect());
        check(unit, vec![123_456_789; 1_000]);
        check(unit, vec![0; 10]);
    }
}

proptest! {
    #[test]
    fn quantiles_hold_on_any_values(values in prop::collection::vec(0_u64..1 << 42, 1..300)) {
        for unit in [Unit::Time, Unit::Tokens, Unit::Rate] {
            check(unit, values.clone());
        }
    }
}
