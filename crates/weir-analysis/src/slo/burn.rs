//! How fast an error budget burns, over which windows, and from when on someone is told.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A window that burn is measured over. It ends now, and holds whole minutes and the present one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum BurnWindow {
    /// Five minutes.
    #[serde(rename = "5m")]
    FiveMinutes,
    /// Half an hour.
    #[serde(rename = "30m")]
    HalfHour,
    /// One hour.
    #[serde(rename = "1h")]
    Hour,
    /// Two hours.
    #[serde(rename = "2h")]
    TwoHours,
    /// Six hours.
    #[serde(rename = "6h")]
    SixHours,
    /// One day.
    #[serde(rename = "1d")]
    Day,
    /// Three days.
    #[serde(rename = "3d")]
    ThreeDays,
}

impl BurnWindow {
    /// Every window, the shortest first.
    pub const ALL: [Self; 7] = [
        Self::FiveMinutes,
        Self::HalfHour,
        Self::Hour,
        Self::TwoHours,
        Self::SixHours,
        Self::Day,
        Self::ThreeDays,
    ];

    /// How many minutes it holds.
    pub const fn minutes(self) -> u64 {
        match self {
            Self::FiveMinutes => 5,
            Self::HalfHour => 30,
            Self::Hour => 60,
            Self::TwoHours => 120,
            Self::SixHours => 360,
            Self::Day => 1_440,
            Self::ThreeDays => 4_320,
        }
    }

    /// How long it is.
    pub const fn length(self) -> Duration {
        Duration::from_secs(self.minutes() * 60)
    }

    /// The name as it stands in configurations and answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FiveMinutes => "5m",
            Self::HalfHour => "30m",
            Self::Hour => "1h",
            Self::TwoHours => "2h",
            Self::SixHours => "6h",
            Self::Day => "1d",
            Self::ThreeDays => "3d",
        }
    }
}

/// How soon someone has to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Within days.
    Ticket,
    /// At once.
    Page,
}

/// A pair of windows: the long one shows that it matters, the short one that it goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurnRule {
    /// How soon someone has to look.
    pub severity: Severity,
    /// The long window.
    pub long: BurnWindow,
    /// The short window, a twelfth of it.
    pub short: BurnWindow,
    /// Both have to burn faster than this.
    pub factor: f64,
}

const fn rule(severity: Severity, long: BurnWindow, short: BurnWindow, factor: f64) -> BurnRule {
    BurnRule { severity, long, short, factor }
}

/// The four pairs of practice for a budget of 30 days: they fire when 2, 5, 10 and 10 % of it are used up
/// within the long window (factor = share × 30 d / window).
pub const RULES: [BurnRule; 4] = [
    rule(Severity::Page, BurnWindow::Hour, BurnWindow::FiveMinutes, 14.4),
    rule(Severity::Page, BurnWindow::SixHours, BurnWindow::HalfHour, 6.0),
    rule(Severity::Ticket, BurnWindow::Day, BurnWindow::TwoHours, 3.0),
    rule(Severity::Ticket, BurnWindow::ThreeDays, BurnWindow::SixHours, 1.0),
];

#[cfg(test)]
mod tests {
    use super::RULES;

    #[test]
    fn factors_are_shares_of_thirty_days() {
        for (rule, share) in RULES.iter().zip([0.02, 0.05, 0.10, 0.10]) {
            let factor = share * 43_200.0 / rule.long.minutes() as f64;
            assert!((rule.factor - factor).abs() < 1e-9, "{rule:?}");
            assert_eq!(rule.long.minutes(), rule.short.minutes() * 12);
        }
    }
}
