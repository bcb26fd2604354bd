//! Figures for people.

use std::time::{Duration, UNIX_EPOCH};

use weir_analysis::alert::unit::Unit;
use weir_analysis::time::Moment;

/// What stands where nothing was measured.
const ABSENT: &str = "-";

/// A length of time, to about three digits: `45 ms`, `1.23 s`, `2 min 5 s`, `3 h 2 min`, `2 d 3 h`.
pub(crate) fn time(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    let (days, hours, minutes) = (whole / 86_400, whole / 3_600 % 24, whole / 60 % 60);
    match seconds {
        0.0 => "0 s".into(),
        // Below what rounds up to the next form.
        s if s < 0.000_999_5 => format!("{:.0} µs", s * 1e6),
        s if s < 0.009_995 => format!("{:.2} ms", s * 1e3),
        s if s < 0.999_5 => format!("{:.0} ms", s * 1e3),
        s if s < 9.995 => format!("{s:.2} s"),
        s if s < 59.95 => format!("{s:.1} s"),
        _ if days > 0 => format!("{days} d {hours} h"),
        _ if whole >= 3_600 => format!("{hours} h {minutes} min"),
        _ => format!("{minutes} min {} s", whole % 60),
    }
}

/// A number per second: `12.3/s`, `0.05/s`, `1234/s`.
pub(super) fn rate(per_s: f64) -> String {
    match per_s.abs() {
        0.0 => "0/s".into(),
        r if r < 0.995 => format!("{per_s:.2}/s"),
        r if r < 99.95 => format!("{per_s:.1}/s"),
        _ => format!("{per_s:.0}/s"),
    }
}

/// A share of one in per cent: `98 %`.
pub(super) fn share(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A share that is small as a rule, with two digits or more: `0.05 %`, `1.2 %`, `98 %`.
pub(crate) fn small_share(share: f64) -> String {
    let per_cent = share * 100.0;
    match per_cent.abs() {
        0.0 => "0 %".into(),
        p if p < 0.995 => format!("{per_cent:.2} %"),
        p if p < 9.95 => format!("{per_cent:.1} %"),
        _ => format!("{per_cent:.0} %"),
    }
}

/// A share that is great as a rule, and told to a hundredth of a per cent: `99.95 %`, `100 %`. Below zero
/// digits tell nothing.
pub(super) fn great_share(share: f64) -> String {
    if share < 0.0 {
        return format!("{:.0} %", share * 100.0);
    }
    let text = format!("{:.2}", share * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A plain number, to about three digits: `0.05`, `14.4`, `1234`.
pub(crate) fn number(number: f64) -> String {
    match number.abs() {
        n if n == 0.0 || n >= 99.95 => format!("{number:.0}"),
        n if n < 0.995 => format!("{number:.2}"),
        _ => format!("{number:.1}"),
    }
}

/// US dollars, to three digits where they are few: `$1234`, `$12.50`, `$0.00125`.
pub(crate) fn usd(usd: f64) -> String {
    let size = usd.abs();
    let sign = if usd < 0.0 { "-" } else { "" };
    if size >= 1_000.0 {
        return format!("{sign}${size:.0}");
    }
    if size >= 0.995 || size == 0.0 {
        return format!("{sign}${size:.2}");
    }
    // As many zeros as stand behind the point, and three digits.
    let digits = (-size.log10()).ceil() + 2.0;
    format!("{sign}${size:.0$}", digits.clamp(2.0, 9.0) as usize)
}

/// A value in its unit.
pub(crate) fn in_unit(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds => time(value),
        Unit::Share | Unit::Ratio => great_share(value),
        Unit::RequestsPerSecond | Unit::TokensPerSecond => rate(value),
        Unit::Usd => usd(value),
        Unit::UsdPerHour => format!("{}/h", usd(value)),
        Unit::Celsius => format!("{} °C", number(value)),
        Unit::Watts => format!("{} W", number(value)),
        Unit::Times => format!("{}x", number(value)),
        Unit::Requests | Unit::Streams | Unit::Tokens => format!("{value:.0}"),
    }
}

/// A figure that may be absent.
pub(crate) fn or_absent<T>(figure: Option<T>, show: impl Fn(T) -> String) -> String {
    figure.map_or_else(|| ABSENT.into(), show)
}

/// A moment of the calendar in UTC.
pub(crate) fn moment(at: Moment) -> String {
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_nanos(at.0)).to_string()
}

/// A name or text of somebody else's, safe for a terminal, and cut at so many characters.
pub(crate) fn foreign(text: &str, most: usize) -> String {
    // Besides control characters, those that turn the direction of writing.
    let harmless = |c: char| {
        let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if c.is_control() || turns { '\u{fffd}' } else { c }
    };
    match text.char_indices().nth(most) {
        None => text.chars().map(harmless).collect(),
        Some(_) => text.chars().take(most.saturating_sub(1)).map(harmless).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use weir_analysis::alert::unit::Unit;
    use weir_analysis::time::Moment;

    use super::{
        foreign, great_share, in_unit, moment, number, or_absent, rate, share, small_share, time, usd,
    };

    #[test]
    fn lengths_of_time_have_three_digits_or_two_units() {
        for (seconds, shown) in [
            (0.0, "0 s"),
            (0.000_025, "25 µs"),
            (0.000_999_6, "1.00 ms"),
            (0.004_5, "4.50 ms"),
            (0.045, "45 ms"),
            (0.999_4, "999 ms"),
            (0.999_9, "1.00 s"),
            (1.234, "1.23 s"),
            (9.996, "10.0 s"),
            (59.94, "59.9 s"),
            (59.96, "1 min 0 s"),
            (125.0, "2 min 5 s"),
            (3_599.6, "1 h 0 min"),
            (10_920.0, "3 h 2 min"),
            (183_600.0, "2 d 3 h"),
        ] {
            assert_eq!(time(seconds), shown, "{seconds}");
        }
    }

    #[test]
    fn rates_shares_and_what_is_absent() {
        for (per_s, shown) in [
            (0.0, "0/s"),
            (0.049, "0.05/s"),
            (0.996, "1.0/s"),
            (12.34, "12.3/s"),
            (-1.5, "-1.5/s"),
            (1234.5, "1234/s"),
        ] {
            assert_eq!(rate(per_s), shown);
        }
        assert_eq!((share(0.984), share(1.2)), ("98 %".into(), "120 %".into()));
        assert_eq!((or_absent(None, time), or_absent(Some(1.0), time)), ("-".into(), "1.00 s".into()));
        assert_eq!(moment(Moment(1_500_000_000_900_000_000)), "2017-07-14T02:40:00Z");
    }

    #[test]
    fn money_and_small_shares_keep_their_digits() {
        for (amount, shown) in [
            (0.0, "$0.00"),
            (0.000_001_25, "$0.00000125"),
            (0.001_254, "$0.00125"),
            (0.5, "$0.500"),
            (0.996, "$1.00"),
            (12.5, "$12.50"),
            (-0.02, "-$0.0200"),
            (12_345.6, "$12346"),
        ] {
            assert_eq!(usd(amount), shown, "{amount}");
        }
        for (part, shown) in [(0.0, "0 %"), (0.000_5, "0.05 %"), (0.012_3, "1.2 %"), (0.996, "100 %")] {
            assert_eq!(small_share(part), shown, "{part}");
        }
        for (part, shown) in [(0.999_5, "99.95 %"), (1.0, "100 %"), (0.98, "98 %"), (-12.0, "-1200 %")] {
            assert_eq!(great_share(part), shown, "{part}");
        }
        for (plain, shown) in [(0.0, "0"), (0.049, "0.05"), (14.4, "14.4"), (1234.5, "1234")] {
            assert_eq!(number(plain), shown, "{plain}");
        }
    }

    #[test]
    fn values_are_told_in_their_unit() {
        for (value, unit, shown) in [
            (2.31, Unit::Seconds, "2.31 s"),
            (0.1525, Unit::Share, "15.25 %"),
            (14.4, Unit::Times, "14.4x"),
            (12.5, Unit::UsdPerHour, "$12.50/h"),
            (51.0, Unit::Requests, "51"),
            (85.0, Unit::Celsius, "85.0 °C"),
        ] {
            assert_eq!(in_unit(value, unit), shown);
        }
    }

    #[test]
    fn a_foreign_name_cannot_write_on_the_terminal() {
        assert_eq!(foreign("a\u{1b}[2Jb\n", 20), "a\u{fffd}[2Jb\u{fffd}");
        assert_eq!(foreign("\u{202e}abc\u{9b}1m", 20), "\u{fffd}abc\u{fffd}1m");
        assert_eq!((foreign("abcd", 4), foreign("abcde", 4)), ("abcd".into(), "abc…".into()));
    }
}
