//! The price book: what a token of which model costs, by the user's word or by LiteLLM's file.

use std::collections::HashMap;
use std::fmt;

use super::litellm::{self, PriceFileError, Warnings};
use super::names::{Match, find};
use super::rates::{Kind, Rates, Tier};

/// Prices of one model by the user's word, in US dollars for a million tokens. They stand alone: nothing
/// of a price book is mixed in. Zero is a price, and absent is not known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PriceOverride {
    /// The model's name, as answers or requests have it.
    pub model: String,
    /// Tokens of the prompt.
    pub input: Option<f64>,
    /// Tokens generated.
    pub output: Option<f64>,
    /// Tokens of the prompt that came from a cache.
    pub cached_input: Option<f64>,
    /// Tokens of the prompt that were written to a cache.
    pub cache_write: Option<f64>,
    /// Tokens spent on reasoning.
    pub reasoning: Option<f64>,
    /// Tokens of the prompt that stand for sound.
    pub audio_input: Option<f64>,
    /// Tokens generated that stand for sound.
    pub audio_output: Option<f64>,
}

/// A price that cannot be one.
#[derive(Clone, Debug, PartialEq)]
pub struct OverrideError {
    /// The model.
    pub model: String,
    /// Which of its prices, as the field of [`PriceOverride`] is called.
    pub price: &'static str,
    /// What it is.
    pub value: f64,
}

impl fmt::Display for OverrideError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` of `{}` is {}: a price is a number from zero up", self.price, self.model, self.value)
    }
}

impl std::error::Error for OverrideError {}

/// Prices by model.
#[derive(Clone, Debug, Default)]
pub struct PriceBook {
    overrides: HashMap<Box<str>, Rates>,
    models: HashMap<Box<str>, Rates>,
    unpriced: u64,
    warnings: Warnings,
}

/// The prices of a model, and how they were found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Priced<'a> {
    pub(super) rates: &'a Rates,
    pub(super) by_override: bool,
    /// Under a name that is only like the answer's.
    pub(super) near: bool,
}

impl PriceBook {
    /// Reads LiteLLM's `model_prices_and_context_window.json`. Whoever reads the file bounds its size.
    pub fn read(json: &[u8]) -> Result<Self, PriceFileError> {
        let file = litellm::read(json)?;
        Ok(Self {
            overrides: HashMap::new(),
            models: file.models,
            unpriced: file.unpriced,
            warnings: file.warnings,
        })
    }

    /// Adds what the user says. Of two that name the same model the later one holds.
    pub fn with_overrides(mut self, overrides: &[PriceOverride]) -> Result<Self, OverrideError> {
        for own in overrides {
            self.overrides.insert(own.model.as_str().into(), own.rates()?);
        }
        Ok(self)
    }

    /// How many models have a price, those of the user aside.
    pub fn len(&self) -> usize {
        self.models.len()
    }

    /// Whether no model has a price.
    pub fn is_empty(&self) -> bool {
        self.models.is_empty() && self.overrides.is_empty()
    }

    /// How many entries of the file price no token, or price it at nothing: those are not known.
    pub const fn unpriced(&self) -> u64 {
        self.unpriced
    }

    /// The entries of the file that were left out.
    pub const fn warnings(&self) -> &Warnings {
        &self.warnings
    }

    /// What the user says of a model: by the name in the answer, else by the one in the request.
    pub(super) fn overriding(&self, answered: Option<&str>, asked: Option<&str>) -> Option<Priced<'_>> {
        let named = || answered.into_iter().chain(asked);
        let exact = named().find_map(|name| Some((self.overrides.get(name)?, Match::Same)));
        let alike = || named().find_map(|name| find(name, |name| self.overrides.get(name)));
        let (rates, how) = exact.or_else(alike)?;
        Some(Priced { rates, by_override: true, near: how == Match::Near })
    }

    /// What the file says of a model.
    pub(super) fn listed(&self, answered: Option<&str>, asked: Option<&str>) -> Option<Priced<'_>> {
        let look_up = |name: &str| find(name, |name| self.models.get(name));
        let by_answer = answered.and_then(look_up);
        // An alias may stand for more than one model.
        let alias = by_answer.is_none() && answered.is_some() && answered != asked;
        let (rates, how) = by_answer.or_else(|| asked.and_then(look_up))?;
        Some(Priced { rates, by_override: false, near: alias || how == Match::Near })
    }
}

impl PriceOverride {
    fn rates(&self) -> Result<Rates, OverrideError> {
        let mut rates = Rates::default();
        for (kind, price, value) in [
            (Kind::Input, "input", self.input),
            (Kind::Output, "output", self.output),
            (Kind::CachedInput, "cached_input", self.cached_input),
            (Kind::CacheWrite, "cache_write", self.cache_write),
            // The user names one price for all that is written.
            (Kind::CacheWriteHour, "cache_write", self.cache_write),
            (Kind::Reasoning, "reasoning", self.reasoning),
            (Kind::AudioInput, "audio_input", self.audio_input),
            (Kind::AudioOutput, "audio_output", self.audio_output),
        ] {
            let Some(value) = value else { continue };
            if !value.is_finite() || value < 0.0 {
                return Err(OverrideError { model: self.model.clone(), price, value });
            }
            rates.set(kind, 0, Tier::Standard, value / 1e6);
        }
        Ok(rates)
    }
}

#[cfg(test)]
mod tests {
    use super::{OverrideError, PriceBook, PriceOverride};
    use crate::cost::rates::{Kind, Tier};

    fn book() -> PriceBook {
        let json = br#"{"gpt-4o":{"input_cost_per_token":2.5e-6},
            "gpt-4o-2024-08-06":{"input_cost_per_token":2e-6},"mini":{"input_cost_per_token":1e-7}}"#;
        PriceBook::read(json).unwrap()
    }

    fn own(model: &str, input: f64) -> PriceOverride {
        PriceOverride { model: model.into(), input: Some(input), ..PriceOverride::default() }
    }

    #[test]
    fn the_answers_name_comes_before_the_requests() {
        let book = book();
        let input = |answered: Option<&str>, asked: Option<&str>| {
            let priced = book.listed(answered, asked)?;
            Some((priced.rates.find(Kind::Input, Tier::Standard, 1)?.usd, priced.near))
        };
        assert_eq!(input(Some("gpt-4o-2024-08-06"), Some("gpt-4o")), Some((2e-6, false)));
        assert_eq!(input(Some("gpt-4o-2024-11-20"), Some("mini")), Some((2.5e-6, true)));
        assert_eq!(input(Some("never-heard"), Some("mini")), Some((1e-7, true)));
        assert_eq!(input(None, Some("mini")), Some((1e-7, false)));
        assert_eq!(input(Some("never-heard"), Some("nor-of-this")), None);
        assert_eq!(input(None, None), None);
    }

    #[test]
    fn the_users_word_goes_by_either_name() {
        let book =
            book().with_overrides(&[own("fast", 3.0), own("fast", 4.0), own("org/base", 1.0)]).unwrap();
        let input = |answered, asked| {
            let priced = book.overriding(answered, asked)?;
            assert!(priced.by_override);
            Some((priced.rates.find(Kind::Input, Tier::Standard, 1)?.usd, priced.near))
        };
        assert_eq!(input(Some("gpt-4o"), Some("fast")), Some((4e-6, false)));
        assert_eq!(input(Some("fast-2025-01-01"), Some("org/base")), Some((1e-6, false)));
        assert_eq!(input(Some("fast-2025-01-01"), None), Some((4e-6, true)));
        assert_eq!(input(Some("gpt-4o"), Some("gpt-4o")), None);
    }

    #[test]
    fn what_can_be_no_price_is_refused() {
        for value in [-1.0, f64::NAN, f64::INFINITY] {
            let error = PriceBook::default().with_overrides(&[own("m", value)]).unwrap_err();
            let OverrideError { model, price, .. } = &error;
            assert_eq!((model.as_str(), *price), ("m", "input"));
            assert!(error.to_string().starts_with("`input` of `m` is "), "{error}");
        }
        assert!(!PriceBook::default().with_overrides(&[own("m", 0.0)]).unwrap().is_empty());
    }
}
