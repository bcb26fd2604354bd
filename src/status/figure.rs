//! Figures for people.

use std::time::{Duration, UNIX_EPOCH};

use weir_analysis::time::Moment;

/// What stands where nothing was measured.
const ABSENT: &str = "-";

/// A length of time, to about three digits: `45 ms`, `1.23 s`, `2 min 5 s`, `3 h 2 min`, `2 d 3 h`.
pub(super) fn time(seconds: f64) -> String {
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

/// A figure that may be absent.
pub(super) fn or_absent<T>(figure: Option<T>, show: impl Fn(T) -> String) -> String {
    figure.map_or_else(|| ABSENT.into(), show)
}

/// A moment of the calendar in UTC.
pub(super) fn moment(at: Moment) -> String {
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_nanos(at.0)).to_string()
}

/// A name or text of somebody else's, safe for a terminal, and cut at so many characters.
pub(super) fn foreign(text: &str, most: usize) -> String {
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
    use weir_analysis::time::Moment;

    use super::{foreign, moment, or_absent, rate, share, time};

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
    fn a_foreign_name_cannot_write_on_the_terminal() {
        assert_eq!(foreign("a\u{1b}[2Jb\n", 20), "a\u{fffd}[2Jb\u{fffd}");
        assert_eq!(foreign("\u{202e}abc\u{9b}1m", 20), "\u{fffd}abc\u{fffd}1m");
        assert_eq!((foreign("abcd", 4), foreign("abcde", 4)), ("abcd".into(), "abc…".into()));
    }
}
