//! Errors by class, each against the share that is allowed to it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_core::outcome::{ErrorType, Outcome};

use super::burn::BurnWindow;
use super::ring::Ring;
use super::sides::{Side, sides};
use crate::time::Moment;

/// A class of errors, by who has to look at them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The upstream took too long: to its answer, or between two bytes of it.
    ApiTimeout,
    /// A limit of the upstream's on how much may be asked.
    RateLimit,
    /// The provider's content filter refused the prompt.
    ContentFilter,
    /// The model server failed, or could not be reached.
    ModelError,
    /// The request was at fault.
    ClientError,
}

impl ErrorClass {
    /// Every class.
    pub const ALL: [Self; 5] =
        [Self::ApiTimeout, Self::RateLimit, Self::ContentFilter, Self::ModelError, Self::ClientError];

    /// The name as it stands in configurations and answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ApiTimeout => "api_timeout",
            Self::RateLimit => "rate_limit",
            Self::ContentFilter => "content_filter",
            Self::ModelError => "model_error",
            Self::ClientError => "client_error",
        }
    }

    /// The class of an error type. None have: remarks on whole answers, clients that left, and what Weir
    /// itself refused.
    pub const fn of(error_type: ErrorType) -> Option<Self> {
        use ErrorType as T;
        match error_type {
            T::UpstreamTimeoutHeaders | T::UpstreamTimeoutIdle => Some(Self::ApiTimeout),
            T::RateLimited | T::Quota => Some(Self::RateLimit),
            T::ContentFilter => Some(Self::ContentFilter),
            T::Overloaded | T::Upstream5xx | T::UpstreamConnect | T::UpstreamReset => Some(Self::ModelError),
            T::StreamError | T::StreamTruncated | T::EmptyStream => Some(Self::ModelError),
            T::BadRequest | T::ContextLength | T::Auth | T::NotFound => Some(Self::ClientError),
            T::Unprocessable | T::Http4xx | T::ClientRequest => Some(Self::ClientError),
            T::MissingDone | T::MissingFinish => None,
            T::ClientDisconnectBeforeFirstToken | T::ClientDisconnectMidStream => None,
            T::ProxyQueueFull | T::ProxyQueueTimeout | T::ProxyShutdown => None,
        }
    }

    /// The class of an exchange. What is remarked on a whole answer or on a tunnel is no error.
    pub fn of_exchange(outcome: Outcome, error_type: Option<ErrorType>) -> Option<Self> {
        if outcome == Outcome::Upgraded || sides(outcome, error_type).error_rate == Side::Good {
            return None;
        }
        match (error_type, outcome) {
            (Some(error_type), _) => Self::of(error_type),
            (None, Outcome::Timeout) => Some(Self::ApiTimeout),
            (
                None,
                Outcome::Truncated
                | Outcome::StreamError
                | Outcome::UpstreamError
                | Outcome::UpstreamUnreachable,
            ) => Some(Self::ModelError),
            (None, _) => None,
        }
    }

    /// What to look at when there are too many, in one sentence.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::ApiTimeout => {
                "Look at the model server's load and queue, and whether response_head and idle fit the longest prompts."
            }
            Self::RateLimit => {
                "Look at the provider's limits and the account's quota, and set Weir's own limits below them."
            }
            Self::ContentFilter => {
                "Look at which prompts the provider's filter refuses, and whether its rules are stricter than meant."
            }
            Self::ModelError => {
                "Look at the model server's log and memory, and at the network between Weir and it."
            }
            Self::ClientError => {
                "Look at what clients send: keys, names of models, parameters, and prompts longer than the context."
            }
        }
    }
}

/// The share of all exchanges that each class may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AllowedShares {
    /// Of [`ErrorClass::ApiTimeout`].
    pub api_timeout: f64,
    /// Of [`ErrorClass::RateLimit`].
    pub rate_limit: f64,
    /// Of [`ErrorClass::ContentFilter`].
    pub content_filter: f64,
    /// Of [`ErrorClass::ModelError`].
    pub model_error: f64,
    /// Of [`ErrorClass::ClientError`].
    pub client_error: f64,
}

impl Default for AllowedShares {
    fn default() -> Self {
        Self {
            api_timeout: 0.01,
            rate_limit: 0.005,
            content_filter: 0.01,
            model_error: 0.001,
            client_error: 0.005,
        }
    }
}

impl AllowedShares {
    /// The share that is allowed to a class.
    pub const fn of(&self, class: ErrorClass) -> f64 {
        match class {
            ErrorClass::ApiTimeout => self.api_timeout,
            ErrorClass::RateLimit => self.rate_limit,
            ErrorClass::ContentFilter => self.content_filter,
            ErrorClass::ModelError => self.model_error,
            ErrorClass::ClientError => self.client_error,
        }
    }
}

/// Errors by class, over several windows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorClasses {
    /// By window, the shortest first: 5 minutes, an hour, a day.
    pub windows: Vec<ClassWindow>,
}

/// Errors by class over one window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassWindow {
    /// The window.
    pub window: BurnWindow,
    /// How much of it lies after the start.
    pub covered_s: f64,
    /// Whether that is not all of it.
    pub partial: bool,
    /// Exchanges that ended in it, however they did.
    pub exchanges: u64,
    /// Every class.
    pub classes: Vec<ClassStatus>,
}

/// One class of errors over one window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassStatus {
    /// The class.
    pub class: ErrorClass,
    /// How many there were.
    pub count: u64,
    /// Their share of all exchanges; absent where there were no exchanges.
    pub share: Option<f64>,
    /// The share that is allowed.
    pub allowed_share: f64,
    /// Whether there were more than are allowed; absent where there were no exchanges.
    pub over: Option<bool>,
    /// What to look at, where there were more than are allowed.
    pub advice: Option<Box<str>>,
}

/// The windows that classes are told over.
const WINDOWS: [BurnWindow; 3] = [BurnWindow::FiveMinutes, BurnWindow::Hour, BurnWindow::Day];
/// One for all exchanges, and one a class.
const COUNTERS: usize = 1 + ErrorClass::ALL.len();

/// Counts errors by class for a day. They begin anew with each start.
#[derive(Clone, Debug)]
pub(super) struct ClassCounts {
    minutes: Ring<COUNTERS>,
    since: Moment,
}

impl ClassCounts {
    pub(super) fn new(started: Moment, minute: u64) -> Self {
        Self { minutes: Ring::new(BurnWindow::Day.minutes() as usize, minute), since: started }
    }

    /// Counts an exchange. False: it ended longer ago than is counted.
    pub(super) fn exchange(&mut self, outcome: Outcome, error_type: Option<ErrorType>, minute: u64) -> bool {
        let mut counts = [0; COUNTERS];
        counts[0] = 1;
        if let Some(class) = ErrorClass::of_exchange(outcome, error_type) {
            counts[1 + class as usize] = 1;
        }
        self.minutes.add(minute, &counts)
    }

    pub(super) fn tick(&mut self, minute: u64) {
        self.minutes.advance(minute);
    }

    pub(super) fn status(&self, allowed: &AllowedShares, now: Moment, minute: u64) -> ErrorClasses {
        ErrorClasses {
            windows: WINDOWS.into_iter().map(|window| self.window(window, allowed, now, minute)).collect(),
        }
    }

    fn window(&self, window: BurnWindow, allowed: &AllowedShares, now: Moment, minute: u64) -> ClassWindow {
        let counts = self.minutes.sum(minute, window.minutes());
        let covered = now.since(self.since).min(window.length());
        let of_class = |class: ErrorClass| {
            let (count, allowed_share) = (counts[1 + class as usize], allowed.of(class));
            let share = (counts[0] > 0).then(|| count as f64 / counts[0] as f64);
            let over = share.map(|share| share > allowed_share);
            ClassStatus {
                class,
                count,
                share,
                allowed_share,
                over,
                advice: (over == Some(true)).then(|| class.advice().into()),
            }
        };
        ClassWindow {
            window,
            covered_s: covered.as_secs_f64(),
            partial: covered < window.length(),
            exchanges: counts[0],
            classes: ErrorClass::ALL.into_iter().map(of_class).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_core::outcome::{ErrorType as T, Outcome as O};

    use super::{ErrorClass, Side, sides};

    #[test]
    fn every_bad_event_of_the_error_rate_has_a_class_and_so_have_the_clients_faults() {
        for &outcome in O::ALL {
            for error_type in T::ALL.iter().copied().map(Some).chain([None]) {
                let class = ErrorClass::of_exchange(outcome, error_type);
                let remark = matches!(error_type, Some(T::MissingDone | T::MissingFinish));
                match sides(outcome, error_type).error_rate {
                    Side::Good | Side::Own => assert_eq!(class, None, "{outcome} {error_type:?}"),
                    Side::Bad => assert_eq!(class.is_none(), remark, "{outcome} {error_type:?}"),
                    Side::Out => {}
                }
            }
        }
        assert_eq!(ErrorClass::of_exchange(O::UpstreamError, Some(T::Auth)), Some(ErrorClass::ClientError));
        assert_eq!(
            ErrorClass::of_exchange(O::Refused, Some(T::ClientRequest)),
            Some(ErrorClass::ClientError)
        );
        assert_eq!(ErrorClass::of_exchange(O::ClientGoneMidStream, Some(T::ClientDisconnectMidStream)), None);
        assert_eq!(ErrorClass::of_exchange(O::Upgraded, Some(T::UpstreamReset)), None);
    }
}
