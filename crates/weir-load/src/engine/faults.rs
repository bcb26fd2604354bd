//! Faults: what can go wrong on purpose, how one is written in text, and how one is drawn.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use http::StatusCode;

/// Events before a stream breaks, when the fault does not say.
const DEFAULT_AT: u64 = 3;
/// Delay of a slow head, when the fault does not say.
const DEFAULT_SLOW_MS: u64 = 1000;

/// Something that goes wrong on purpose with one request.
///
/// Its text form is `NAME[;at=K][;retry=S][;ms=N]`, for example `abort;at=5` or `429;retry=2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `abort`: the connection closes after `at` events, without the terminal chunk.
    Abort {
        /// Events written before.
        at: u64,
    },
    /// `reset`: as abort, but with a TCP reset.
    Reset {
        /// Events written before.
        at: u64,
    },
    /// `stall`: silence after `at` events, until the other side leaves.
    Stall {
        /// Events written before.
        at: u64,
    },
    /// `error`: an error event after `at` events, then `[DONE]`. Status 500 when not streaming.
    Error {
        /// Events written before.
        at: u64,
    },
    /// `400` to `599`: that status.
    Status {
        /// The status.
        status: StatusCode,
        /// Seconds for the `retry-after` header, if it is sent.
        retry_after: Option<u64>,
    },
    /// `slow_head`: the response head comes late.
    SlowHead {
        /// How late.
        delay: Duration,
    },
    /// `drop`: the connection closes without an answer.
    Drop,
    /// `garbage`: the answer is not HTTP.
    Garbage,
}

impl FromStr for Fault {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let mut words = text.split(';').map(str::trim);
        let name = words.next().unwrap_or_default();
        let mut options = Options::default();
        for word in words {
            options.set(word)?;
        }
        let at = options.at.unwrap_or(DEFAULT_AT);
        match name {
            "abort" => Ok(Fault::Abort { at }),
            "reset" => Ok(Fault::Reset { at }),
            "stall" => Ok(Fault::Stall { at }),
            "error" => Ok(Fault::Error { at }),
            "slow_head" => {
                Ok(Fault::SlowHead { delay: Duration::from_millis(options.ms.unwrap_or(DEFAULT_SLOW_MS)) })
            }
            "drop" => Ok(Fault::Drop),
            "garbage" => Ok(Fault::Garbage),
            _ => StatusCode::from_bytes(name.as_bytes())
                .ok()
                .filter(|status| status.is_client_error() || status.is_server_error())
                .map(|status| Fault::Status { status, retry_after: options.retry })
                .ok_or_else(|| FaultError(name.to_owned())),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Abort { at } => write!(f, "abort;at={at}"),
            Fault::Reset { at } => write!(f, "reset;at={at}"),
            Fault::Stall { at } => write!(f, "stall;at={at}"),
            Fault::Error { at } => write!(f, "error;at={at}"),
            Fault::Status { status, retry_after: None } => write!(f, "{}", status.as_str()),
            Fault::Status { status, retry_after: Some(seconds) } => {
                write!(f, "{};retry={seconds}", status.as_str())
            }
            Fault::SlowHead { delay } => write!(f, "slow_head;ms={}", delay.as_millis()),
            Fault::Drop => f.write_str("drop"),
            Fault::Garbage => f.write_str("garbage"),
        }
    }
}

/// The options of a fault's text form.
#[derive(Default)]
struct Options {
    at: Option<u64>,
    retry: Option<u64>,
    ms: Option<u64>,
}

impl Options {
    fn set(&mut self, word: &str) -> Result<(), FaultError> {
        let unknown = || FaultError(word.to_owned());
        let (key, value) = word.split_once('=').ok_or_else(unknown)?;
        let slot = match key {
            "at" => &mut self.at,
            "retry" => &mut self.retry,
            "ms" => &mut self.ms,
            _ => return Err(unknown()),
        };
        *slot = Some(value.parse().map_err(|_| unknown())?);
        Ok(())
    }
}

/// The word of a fault's text form that is not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultError(String);

impl fmt::Display for FaultError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no fault: allowed are abort, reset, stall, error, slow_head, drop, garbage \
             or a status from 400 to 599, then ;at=EVENTS, ;retry=SECONDS, ;ms=MILLISECONDS",
            self.0
        )
    }
}

impl std::error::Error for FaultError {}

/// Faults that are drawn at random, each with the share of requests that get it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultRates(Vec<(Fault, f64)>);

impl FaultRates {
    /// Shares must lie between 0 and 1 and add up to at most 1; otherwise there is no such table.
    pub fn new(rates: Vec<(Fault, f64)>) -> Option<Self> {
        let each = rates.iter().all(|(_, share)| (0.0..=1.0).contains(share));
        let sum: f64 = rates.iter().map(|(_, share)| share).sum();
        // Ten shares of 0.1 may add up to a little more than 1.
        (each && sum <= 1.0 + 1e-9).then_some(FaultRates(rates))
    }

    /// The fault that `draw`, uniform in `[0, 1)`, falls on.
    pub(crate) fn at(&self, draw: f64) -> Option<Fault> {
        let mut upper = 0.0;
        self.0.iter().find_map(|&(fault, share)| {
            upper += share;
            (draw < upper).then_some(fault)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_fault_agree() {
        for text in [
            "abort;at=5",
            "reset;at=0",
            "stall;at=1",
            "error;at=2",
            "429;retry=7",
            "500",
            "503",
            "slow_head;ms=20",
            "drop",
            "garbage",
        ] {
            assert_eq!(text.parse::<Fault>().unwrap().to_string(), text);
        }
        assert_eq!("abort".parse(), Ok(Fault::Abort { at: DEFAULT_AT }));
    }

    #[test]
    fn what_is_no_fault_is_named() {
        for (text, word) in [("boom", "boom"), ("200", "200"), ("abort;at=x", "at=x"), ("abort;k", "k")] {
            assert_eq!(text.parse::<Fault>(), Err(FaultError(word.into())), "{text}");
        }
    }

    #[test]
    fn shares_divide_the_draw() {
        let rates = FaultRates::new(vec![(Fault::Drop, 0.25), (Fault::Garbage, 0.5)]).unwrap();
        assert_eq!(rates.at(0.0), Some(Fault::Drop));
        assert_eq!(rates.at(0.25), Some(Fault::Garbage));
        assert_eq!(rates.at(0.75), None);
        assert_eq!(FaultRates::default().at(0.0), None);
    }

    #[test]
    fn impossible_shares_are_refused() {
        assert!(FaultRates::new(vec![(Fault::Drop, 0.6), (Fault::Drop, 0.6)]).is_none());
        assert!(FaultRates::new(vec![(Fault::Drop, -0.1)]).is_none());
        assert!(FaultRates::new(vec![(Fault::Drop, f64::NAN)]).is_none());
        assert!(FaultRates::new(vec![(Fault::Drop, 0.1); 10]).is_some());
    }
}
