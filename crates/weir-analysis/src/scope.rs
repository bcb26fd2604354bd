//! What a figure is a figure of, and over which window.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a figure is a figure of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Everything that passed.
    Overall,
    /// One model, by the name that requests use. `unknown`: those that name none; `other`: those that
    /// came when there were as many as are told apart.
    Model(Box<str>),
    /// One upstream.
    Upstream(Box<str>),
}

/// A model with a longer name, in bytes, is not told apart.
pub(crate) const LONGEST_NAME: usize = 256;

/// A sliding window that ends now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Window {
    /// One minute.
    #[serde(rename = "1m")]
    Minute,
    /// Five minutes.
    #[serde(rename = "5m")]
    FiveMinutes,
    /// One hour.
    #[serde(rename = "1h")]
    Hour,
}

impl Window {
    /// Every window, the shortest first.
    pub const ALL: [Self; 3] = [Self::Minute, Self::FiveMinutes, Self::Hour];

    /// How long it is.
    pub const fn length(self) -> Duration {
        Duration::from_secs(match self {
            Self::Minute => 60,
            Self::FiveMinutes => 300,
            Self::Hour => 3_600,
        })
    }

    /// The name as it stands in records and answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Minute => "1m",
            Self::FiveMinutes => "5m",
            Self::Hour => "1h",
        }
    }
}
