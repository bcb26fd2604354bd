//! A condition, taken apart, and how it is printed again.

use std::fmt;
use std::time::Duration;

use super::lexer::in_quotes;
use super::signal::Signal;
use super::unit::{print_duration, print_value};
use crate::scope::Scope;

/// What must hold, for how long, and of what.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// What is compared.
    pub test: Test,
    /// How long it must hold without interruption; `None`: nothing is said, and the alert fires at once.
    pub held: Option<Duration>,
    /// What the signals are read of.
    pub scope: Scope,
}

/// One comparison, or several joined.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// One comparison.
    Is(Comparison),
    /// All of these hold: `a and b`. At least two.
    All(Vec<Test>),
    /// Any of these holds: `a or b`. At least two.
    Any(Vec<Test>),
}

/// A signal against a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What is read.
    pub signal: Signal,
    /// How it is compared.
    pub comparator: Comparator,
    /// With what.
    pub threshold: Threshold,
}

/// How a signal is compared with its threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparator {
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `==`
    Equal,
    /// `!=`
    Unequal,
}

impl Comparator {
    /// Every comparator.
    pub const ALL: [Self; 6] =
        [Self::Above, Self::AtLeast, Self::Below, Self::AtMost, Self::Equal, Self::Unequal];

    /// The sign.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Above => ">",
            Self::AtLeast => ">=",
            Self::Below => "<",
            Self::AtMost => "<=",
            Self::Equal => "==",
            Self::Unequal => "!=",
        }
    }

    /// Whether a value compares so with a threshold.
    pub fn holds(self, value: f64, threshold: f64) -> bool {
        match self {
            Self::Above => value > threshold,
            Self::AtLeast => value >= threshold,
            Self::Below => value < threshold,
            Self::AtMost => value <= threshold,
            Self::Equal => value == threshold,
            Self::Unequal => value != threshold,
        }
    }
}

/// What a signal is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// A value in the signal's unit.
    Fixed(f64),
    /// So many times the signal's own baseline: `2x_baseline`.
    Baseline(f64),
}

impl Condition {
    /// How long it must hold.
    pub fn held(&self) -> Duration {
        self.held.unwrap_or_default()
    }

    /// Every comparison, from left to right.
    pub fn comparisons(&self) -> Vec<&Comparison> {
        let mut found = Vec::new();
        self.test.collect(&mut found);
        found
    }
}

impl Test {
    fn collect<'a>(&'a self, found: &mut Vec<&'a Comparison>) {
        match self {
            Self::Is(comparison) => found.push(comparison),
            Self::All(tests) | Self::Any(tests) => tests.iter().for_each(|test| test.collect(found)),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.test.fmt(f)?;
        if let Some(held) = self.held {
            write!(f, " for {}", print_duration(held))?;
        }
        Where(&self.scope).fmt(f)
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tests, joint) = match self {
            Self::Is(comparison) => return comparison.fmt(f),
            Self::All(tests) => (tests, " and "),
            Self::Any(tests) => (tests, " or "),
        };
        for (nth, test) in tests.iter().enumerate() {
            f.write_str(if nth == 0 { "" } else { joint })?;
            match test {
                Self::Is(comparison) => comparison.fmt(f)?,
                Self::All(_) | Self::Any(_) => write!(f, "({test})")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", self.signal, self.comparator.as_str())?;
        match self.threshold {
            Threshold::Fixed(value) => f.write_str(&print_value(value, self.signal.unit())),
            Threshold::Baseline(factor) => write!(f, "{factor}x_baseline"),
        }
    }
}

/// A scope as ` where model = "…"`; nothing for everything.
pub(super) struct Where<'a>(pub(super) &'a Scope);

impl fmt::Display for Where<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (label, name) = match self.0 {
            Scope::Overall => return Ok(()),
            Scope::Model(name) => ("model", name),
            Scope::Upstream(name) => ("upstream", name),
        };
        write!(f, " where {label} = {}", in_quotes(name))
    }
}
