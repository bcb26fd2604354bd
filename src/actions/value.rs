//! A figure with its unit, for people.

use weir_analysis::alert::unit::Unit;

/// Digits that are shown: more would pretend to know.
const DIGITS: i32 = 4;

/// A value in the words of its unit: `3.2 s`, `250 ms`, `7.5 %`, `12 requests`.
pub(super) fn in_words(value: f64, unit: Unit) -> String {
    let (number, word) = match unit {
        Unit::Seconds if value.abs() < 1.0 => (value * 1e3, "ms"),
        Unit::Seconds => (value, "s"),
        Unit::Share | Unit::Ratio => (value * 100.0, "%"),
        unit => (value, unit.as_str()),
    };
    format!("{} {word}", short(number))
}

/// The number with so many digits, but with all of those before the point.
fn short(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return (number + 0.0).to_string();
    }
    let before = number.abs().log10().floor() as i32 + 1;
    let after = usize::try_from(DIGITS - before).unwrap_or_default().min(9);
    let text = format!("{number:.after$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use weir_analysis::alert::unit::Unit;

    use super::in_words;

    #[test]
    fn a_value_is_told_with_its_unit() {
        for (value, unit, told) in [
            (3.2, Unit::Seconds, "3.2 s"),
            (0.25, Unit::Seconds, "250 ms"),
            (0.012_345_6, Unit::Seconds, "12.35 ms"),
            (0.0, Unit::Seconds, "0 ms"),
            (0.075, Unit::Share, "7.5 %"),
            (1.13, Unit::Ratio, "113 %"),
            (-0.1, Unit::Ratio, "-10 %"),
            (12.0, Unit::Requests, "12 requests"),
            (123_456.7, Unit::Tokens, "123457 tokens"),
            (14.4, Unit::Times, "14.4 times"),
            (12.5, Unit::UsdPerHour, "12.5 USD/h"),
            (0.000_123_45, Unit::Usd, "0.0001234 USD"),
        ] {
            assert_eq!(in_words(value, unit), told);
        }
    }
}
