//! Units of signals, and how values are written in them.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::mistake::{did_you_mean, quoted};

/// What a signal is counted in. Figures are in base units: seconds, ratios from 0 to 1, USD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// A share of a whole, from 0 to 1.
    Share,
    /// A ratio that may be above 1.
    Ratio,
    /// Requests.
    Requests,
    /// Requests per second.
    RequestsPerSecond,
    /// Streams.
    Streams,
    /// Tokens.
    Tokens,
    /// Tokens per second.
    TokensPerSecond,
    /// US dollars.
    Usd,
    /// US dollars per hour.
    UsdPerHour,
    /// Degrees Celsius.
    Celsius,
    /// Watts.
    Watts,
    /// Times as fast as allowed.
    Times,
}

impl Unit {
    /// The name for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Share => "share (0 to 1)",
            Self::Ratio => "ratio",
            Self::Requests => "requests",
            Self::RequestsPerSecond => "requests/s",
            Self::Streams => "streams",
            Self::Tokens => "tokens",
            Self::TokensPerSecond => "tokens/s",
            Self::Usd => "USD",
            Self::UsdPerHour => "USD/h",
            Self::Celsius => "°C",
            Self::Watts => "W",
            Self::Times => "times",
        }
    }

    /// How a value is written, for a message.
    const fn example(self) -> &'static str {
        match self {
            Self::Seconds => "a duration such as 500ms, 2s or 5m",
            Self::Share | Self::Ratio => "a percentage such as 5%, or a ratio such as 0.05",
            Self::Usd | Self::UsdPerHour => "a plain number of US dollars such as 12.5",
            Self::Celsius => "a plain number of degrees Celsius such as 85",
            Self::Watts => "a plain number of watts such as 600",
            _ => "a plain number such as 20",
        }
    }
}

/// The units that durations are written in.
pub(super) const DURATIONS: [&str; 7] = ["us", "ms", "s", "m", "min", "h", "d"];

/// A duration such as `5min` may be this long at most.
pub(super) const LONGEST: Duration = Duration::from_secs(7 * 24 * 3_600);

/// A number as written, taken apart: `2000` and `ms`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Written<'a> {
    pub(super) number: f64,
    /// The number's own text.
    pub(super) digits: &'a str,
    pub(super) unit: &'a str,
}

impl<'a> Written<'a> {
    /// Takes a text such as `2000ms` apart; `None`: it begins with no number.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let text = text.trim();
        let digits = text.strip_prefix('-').unwrap_or(text);
        let length = digits.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(digits.len());
        let (digits, unit) = text.split_at(text.len() - digits.len() + length);
        // Above this, not every whole number has a float of its own.
        let number: f64 = digits.parse().ok().filter(|number: &f64| number.abs() <= 1e15)?;
        // There is no negative zero to compare with.
        Some(Self { number: number + 0.0, digits, unit: unit.trim_start() })
    }

    /// The seconds of a duration; what is wrong if it is none.
    pub(super) fn seconds(&self) -> Result<f64, String> {
        let Self { number, digits, unit } = *self;
        if number < 0.0 {
            return Err(format!("a duration cannot be negative: {digits}{unit}"));
        }
        match unit {
            "us" | "µs" | "μs" => Ok(number / 1e6),
            "ms" => Ok(number / 1e3),
            "s" => Ok(number),
            "m" | "min" => Ok(number * 60.0),
            "h" => Ok(number * 3_600.0),
            "d" => Ok(number * 86_400.0),
            "" => Err(format!("{digits} has no unit: write a duration such as {digits}s or {digits}m")),
            _ => {
                let allowed = DURATIONS.join(", ");
                let hint = did_you_mean(unit, DURATIONS);
                Err(format!("{} is no unit of time{hint} (units are {allowed})", quoted(unit)))
            }
        }
    }

    /// The value of a signal of this unit; what is wrong if it cannot be one.
    pub(super) fn value(&self, unit: Unit, signal: &str) -> Result<f64, String> {
        match unit {
            Unit::Seconds if self.unit.is_empty() || self.unit == "%" => Err(self.mismatch(unit, signal)),
            Unit::Seconds => self.seconds(),
            Unit::Share | Unit::Ratio => self.ratio(unit, signal),
            _ if self.unit.is_empty() => Ok(self.number),
            _ => Err(self.mismatch(unit, signal)),
        }
    }

    fn ratio(&self, unit: Unit, signal: &str) -> Result<f64, String> {
        let Self { number, digits, .. } = *self;
        match self.unit {
            "%" if unit == Unit::Share && number > 100.0 => {
                Err(format!("{signal} is a share and never above 100%: {digits}%"))
            }
            "%" => Ok(number / 100.0),
            "" if number >= 1.0 => {
                Err(format!("{signal} is a ratio: write {digits}% for {digits} percent, not {digits}"))
            }
            "" => Ok(number),
            _ => Err(self.mismatch(unit, signal)),
        }
    }

    fn mismatch(&self, unit: Unit, signal: &str) -> String {
        let Self { digits, unit: written, .. } = self;
        let unit_name = if matches!(unit, Unit::Share | Unit::Ratio) { "percent" } else { unit.as_str() };
        format!("{signal} is in {unit_name}, not \"{digits}{written}\": write {}", unit.example())
    }
}

/// A duration as it stands in a file, at most [`LONGEST`].
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let Some(written) = Written::parse(text) else {
        return Err(format!("{} is no duration: write one such as 500ms, 30s, 5min or 1h", quoted(text)));
    };
    held(&written)
}

/// The length that a number with a unit stands for, at most [`LONGEST`].
pub(super) fn held(written: &Written<'_>) -> Result<Duration, String> {
    let seconds = written.seconds()?;
    if seconds > LONGEST.as_secs_f64() {
        return Err(format!("{}{} is longer than 7d", written.digits, written.unit));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// A duration in the longest unit that says it in whole numbers.
pub(super) fn print_duration(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    for (unit, length) in
        [("h", 3_600_000_000_000), ("m", 60_000_000_000), ("s", 1_000_000_000), ("ms", 1_000_000)]
    {
        if nanos > 0 && nanos.is_multiple_of(length) {
            return format!("{}{unit}", nanos / length);
        }
    }
    format!("{}s", duration.as_secs_f64())
}

/// A value as it would be written, such that reading it gives the same value again.
pub(super) fn print_value(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds => short(value),
        Unit::Share | Unit::Ratio => percent(value).unwrap_or_else(|| value.to_string()),
        _ => value.to_string(),
    }
}

/// Seconds, those below one as milliseconds where these are read as the same.
fn short(seconds: f64) -> String {
    let millis = seconds * 1e3;
    let same = seconds > 0.0 && seconds < 1.0 && millis / 1e3 == seconds;
    if same { format!("{millis}ms") } else { format!("{seconds}s") }
}

/// The percentage that is read as this ratio. Not each is: 100 times the ratio may be off by a rounding.
fn percent(value: f64) -> Option<String> {
    let near = value * 100.0;
    [near, near.next_up(), near.next_down()]
        .into_iter()
        .filter(|percent| percent / 100.0 == value)
        .map(|percent| format!("{percent}%"))
        .min_by_key(String::len)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Unit, Written, duration, print_duration, print_value};

    #[test]
    fn durations_are_read_in_every_unit() {
        for (text, nanos) in [
            ("250us", 250_000),
            ("250µs", 250_000),
            ("1.5ms", 1_500_000),
            ("300s", 300_000_000_000),
            ("5min", 300_000_000_000),
            ("5 m", 300_000_000_000),
            ("0.5h", 1_800_000_000_000),
            ("0s", 0),
            ("7d", 604_800_000_000_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn durations_are_printed_short() {
        for (nanos, text) in [
            (0, "0s"),
            (3_600_000_000_000, "1h"),
            (5_400_000_000_000, "90m"),
            (61_000_000_000, "61s"),
            (1_500_000_000, "1500ms"),
            (250_000, "0.00025s"),
        ] {
            let length = Duration::from_nanos(nanos);
            assert_eq!(print_duration(length), text);
            assert_eq!(duration(text), Ok(length));
        }
    }

    #[test]
    fn values_are_printed_as_they_are_read() {
        for (unit, written, value, printed) in [
            (Unit::Seconds, "2000ms", 2.0, "2s"),
            (Unit::Seconds, "0.2s", 0.2, "200ms"),
            (Unit::Seconds, "250us", 0.000_25, "0.25ms"),
            (Unit::Seconds, "0ms", 0.0, "0s"),
            (Unit::Share, "5%", 0.05, "5%"),
            (Unit::Share, "0.07", 0.07, "7%"),
            (Unit::Ratio, "113%", 1.13, "113%"),
            (Unit::Ratio, "-10%", -0.1, "-10%"),
            (Unit::UsdPerHour, "12.50", 12.5, "12.5"),
            (Unit::Times, "14.4", 14.4, "14.4"),
        ] {
            assert_eq!(Written::parse(written).unwrap().value(unit, "it"), Ok(value), "{written}");
            assert_eq!(print_value(value, unit), printed);
        }
    }
}
