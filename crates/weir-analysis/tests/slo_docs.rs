//! What `docs/slo.md` says is what the code does, row by row.

#![allow(clippy::unwrap_used, clippy::panic)]

use weir_analysis::slo::classes::{AllowedShares, ErrorClass};
use weir_analysis::slo::sides::{Side, sides};
use weir_core::outcome::{ErrorType, Outcome};

const DOC: &str = include_str!("../../../docs/slo.md");

/// The cells of the table below a heading, without its head.
fn table(heading: &str) -> Vec<Vec<String>> {
    let (_, section) = DOC.split_once(&format!("\n## {heading}\n")).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with('|')).skip(2);
    rows.map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect())
        .collect()
}

const fn name(side: Side) -> &'static str {
    match side {
        Side::Good => "good",
        Side::Bad => "bad",
        Side::Out => "out",
        Side::Own => "own",
    }
}

#[test]
fn sides_are_as_documented_for_every_pair() {
    let rows = table("Sides");
    let mut used = vec![false; rows.len()];
    let error_types = || ErrorType::ALL.iter().copied().map(Some).chain([None]);
    for (outcome, error_type) in Outcome::ALL.iter().flat_map(|&o| error_types().map(move |e| (o, e))) {
        let fits = |row: &Vec<String>| {
            (row[0] == "any" || row[0] == outcome.as_str())
                && (row[1] == "any" || row[1] == error_type.map_or("none", ErrorType::as_str))
        };
        let place = rows.iter().position(fits).unwrap_or_else(|| panic!("{outcome} {error_type:?}: no row"));
        used[place] = true;
        let sides = sides(outcome, error_type);
        assert_eq!(rows[place][2], name(sides.availability), "{outcome} {error_type:?}");
        assert_eq!(rows[place][3], name(sides.error_rate), "{outcome} {error_type:?}");
    }
    assert!(used.iter().all(|used| *used), "a row that nothing fits: {used:?}");
}

#[test]
fn classes_are_as_documented_for_every_error_type() {
    let rows = table("Classes of errors");
    let shares = AllowedShares::default();
    assert_eq!(rows.len(), ErrorClass::ALL.len());
    for (row, class) in rows.iter().zip(ErrorClass::ALL) {
        assert_eq!(row[0], class.as_str());
        let percent: f64 = row[1].trim_end_matches(" %").parse().unwrap();
        assert!((percent / 100.0 - shares.of(class)).abs() < 1e-12, "{row:?}");
        let documented: Vec<&str> = row[2].split(", ").collect();
        for error_type in ErrorType::ALL {
            let listed = documented.contains(&error_type.as_str());
            assert_eq!(listed, ErrorClass::of(*error_type) == Some(class), "{error_type}");
        }
    }
}
