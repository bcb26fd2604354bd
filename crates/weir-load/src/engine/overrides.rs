//! The `x-sim-*` headers, by which one request steers how it is answered.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use http::HeaderMap;

use super::config::{Behaviour, Length, ReasoningField, RoleChunk};
use super::faults::Fault;
use super::refusal::Refusal;

/// What a request's headers ask of the engine, beside its behaviour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Steering {
    /// `x-sim-seed`: takes the place of the request's ordinal in every draw.
    pub(crate) key: Option<u64>,
    /// `x-sim-fault`.
    pub(crate) fault: Option<Fault>,
}

impl Steering {
    /// Reads the headers.
    pub(crate) fn read(headers: &HeaderMap) -> Result<Self, Refusal> {
        Ok(Steering { key: parsed(headers, "x-sim-seed")?, fault: parsed(headers, "x-sim-fault")? })
    }
}

impl Behaviour {
    /// This behaviour, as a request's headers change it.
    pub(crate) fn steered(&self, headers: &HeaderMap) -> Result<Self, Refusal> {
        let mut behaviour = self.clone();
        if let Some(ttft) = parsed::<HumanDuration>(headers, "x-sim-ttft")? {
            behaviour.ttft = ttft.0;
        }
        if let Some(tps) = parsed(headers, "x-sim-tps")? {
            behaviour.tps = tps;
        }
        if let Some(tokens) = parsed(headers, "x-sim-tokens")? {
            behaviour.length = Length::Own(tokens);
        }
        if let Some(tokens) = parsed(headers, "x-sim-tokens-per-chunk")? {
            behaviour.tokens_per_chunk = tokens;
        }
        if let Some(role) = parsed(headers, "x-sim-role")? {
            behaviour.role = role;
        }
        if let Some(field) = parsed(headers, "x-sim-reasoning")? {
            behaviour.reasoning = field;
        }
        Ok(behaviour)
    }
}

/// A header's value, if it is there; a value that means nothing is the client's mistake.
fn parsed<T: FromStr<Err: Display>>(headers: &HeaderMap, name: &str) -> Result<Option<T>, Refusal> {
    let Some(value) = headers.get(name) else {
        return Ok(None);
    };
    let text = value.to_str().map_err(|error| Refusal::invalid(format!("{name}: {error}")))?;
    let value = text.parse().map_err(|error| Refusal::invalid(format!("{name}: {error}")))?;
    Ok(Some(value))
}

/// A duration written with its unit.
struct HumanDuration(Duration);

impl FromStr for HumanDuration {
    type Err = humantime::DurationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        humantime::parse_duration(text).map(HumanDuration)
    }
}

impl FromStr for RoleChunk {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "early" => Ok(RoleChunk::Early),
            "late" => Ok(RoleChunk::Late),
            _ => Err("allowed are early and late"),
        }
    }
}

impl FromStr for ReasoningField {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "reasoning" => Ok(ReasoningField::Reasoning),
            "reasoning_content" => Ok(ReasoningField::ReasoningContent),
            _ => Err("allowed are reasoning and reasoning_content"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn every_header_has_its_effect() {
        let steered = Behaviour::default()
            .steered(&headers(&[
                ("x-sim-ttft", "20ms"),
                ("x-sim-tps", "100"),
                ("x-sim-tokens", "16"),
                ("x-sim-tokens-per-chunk", "4"),
                ("x-sim-role", "early"),
                ("x-sim-reasoning", "reasoning_content"),
            ]))
            .unwrap();
        let expected = Behaviour {
            ttft: Duration::from_millis(20),
            tps: 100.0,
            length: Length::Own(16),
            tokens_per_chunk: 4,
            role: RoleChunk::Early,
            reasoning: ReasoningField::ReasoningContent,
            ..Behaviour::default()
        };
        assert_eq!(steered, expected);
    }

    #[test]
    fn without_headers_nothing_changes() {
        let steered = Behaviour::default().steered(&HeaderMap::new()).unwrap();
        assert_eq!(steered, Behaviour::default());
        assert_eq!(Steering::read(&HeaderMap::new()).unwrap(), Steering::default());
    }

    #[test]
    fn steering_is_read() {
        let steering =
            Steering::read(&headers(&[("x-sim-seed", "7"), ("x-sim-fault", "stall;at=2")])).unwrap();
        assert_eq!(steering, Steering { key: Some(7), fault: Some(Fault::Stall { at: 2 }) });
    }

    #[test]
    fn a_mistake_names_its_header() {
        for name in ["x-sim-ttft", "x-sim-tps", "x-sim-tokens", "x-sim-role", "x-sim-reasoning"] {
            let refusal = Behaviour::default().steered(&headers(&[(name, "?")])).unwrap_err();
            assert!(refusal.message.starts_with(name), "{}", refusal.message);
        }
        assert!(Steering::read(&headers(&[("x-sim-fault", "boom")])).is_err());
    }
}
