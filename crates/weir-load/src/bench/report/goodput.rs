//! Goodput: answers that were good enough.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bench::semantics::View;

/// The most that an answer may take to be good, in milliseconds; what is absent does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GoodputLimits {
    /// For the time to the first token.
    pub ttft_ms: Option<f64>,
    /// For the time per output token.
    pub tpot_ms: Option<f64>,
    /// For the time to the end.
    pub e2el_ms: Option<f64>,
}

/// How many answers were good.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Goodput {
    /// Good answers.
    pub good: u64,
    /// Good answers per second of the run, as `vllm bench serve` has it.
    pub per_s: f64,
    /// Good answers as a part of all requests that succeeded or failed: whoever fails half of its requests
    /// is not good.
    pub attainment: Option<f64>,
}

/// A limit that is not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoodputError(String);

impl fmt::Display for GoodputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no limit: allowed are ttft:MILLISECONDS, tpot:MILLISECONDS, e2el:MILLISECONDS",
            self.0
        )
    }
}

impl std::error::Error for GoodputError {}

impl GoodputLimits {
    /// Reads limits written as `ttft:500`, in milliseconds, as `--goodput` of `vllm bench serve` takes them.
    pub fn parse<S: AsRef<str>>(limits: impl IntoIterator<Item = S>) -> Result<Self, GoodputError> {
        let mut parsed = GoodputLimits::default();
        for limit in limits {
            let limit = limit.as_ref();
            let wrong = || GoodputError(limit.to_owned());
            let (name, value) = limit.split_once(':').ok_or_else(wrong)?;
            let slot = match name {
                "ttft" => &mut parsed.ttft_ms,
                "tpot" => &mut parsed.tpot_ms,
                "e2el" => &mut parsed.e2el_ms,
                _ => return Err(wrong()),
            };
            *slot = Some(value.parse().ok().filter(|value: &f64| *value >= 0.0).ok_or_else(wrong)?);
        }
        Ok(parsed)
    }

    /// Whether there is no limit.
    pub fn is_empty(&self) -> bool {
        *self == GoodputLimits::default()
    }

    /// Whether a successful answer is good: each figure is at its limit or below. As with `vllm bench serve`,
    /// an answer of one token has a time per token of 0. Of what is no stream, the first token is its end.
    pub fn is_met(&self, view: &View) -> bool {
        let met = |limit_ms: Option<f64>, value_s: Option<f64>| {
            limit_ms.is_none_or(|limit| value_s.is_some_and(|value| value * 1e3 <= limit))
        };
        met(self.ttft_ms, view.ttft_s.or(view.e2e_s))
            && met(self.tpot_ms, Some(view.tpot_s.unwrap_or(0.0)))
            && met(self.e2el_ms, view.e2e_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::semantics::Length;

    #[test]
    fn limits_are_read() {
        let limits = GoodputLimits::parse(["ttft:500", "tpot:50.5"]).unwrap();
        let expected = GoodputLimits { ttft_ms: Some(500.0), tpot_ms: Some(50.5), e2el_ms: None };
        assert_eq!(limits, expected);
        assert!(GoodputLimits::parse([""; 0]).unwrap().is_empty());
        for wrong in ["itl:5", "ttft", "ttft:x", "ttft:-1"] {
            assert_eq!(GoodputLimits::parse([wrong]), Err(GoodputError(wrong.into())));
        }
    }

    #[test]
    fn an_answer_is_good_up_to_the_limit() {
        let view = View {
            is_success: true,
            ttft_s: Some(0.5),
            itls_s: Vec::new(),
            tpot_s: None,
            e2e_s: Some(2.0),
            input: Length::Unknown,
            output: Length::Usage(1),
        };
        let limits = |text: &str| GoodputLimits::parse(text.split(' ')).unwrap();
        assert!(limits("ttft:500 tpot:0 e2el:2000").is_met(&view));
        assert!(!limits("ttft:499").is_met(&view));
        assert!(!limits("ttft:500 e2el:1999").is_met(&view));
        let whole = View { ttft_s: None, ..view };
        assert!(limits("ttft:2000").is_met(&whole) && !limits("ttft:1999").is_met(&whole));
    }
}
