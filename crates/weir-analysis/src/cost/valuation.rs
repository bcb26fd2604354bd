//! What one exchange costs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_core::exchange::{Asked, Exchange};
use weir_core::setting::SettingName;

use super::book::{PriceBook, Priced};
use super::integral::Share;
use super::money::NanoUsd;
use super::rates::{Kind, Tier};
use super::tokens::{InputTokens, OutputTokens, Tokens};

/// Where a cost is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The upstream says it in its answer.
    Upstream,
    /// The user's own prices.
    Override,
    /// The time of owned GPUs.
    Gpu,
    /// The price book.
    PriceBook,
    /// It is not known.
    Unknown,
}

impl Source {
    /// The name as it stands in records and labels.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Upstream => "upstream",
            Self::Override => "override",
            Self::Gpu => "gpu",
            Self::PriceBook => "price_book",
            Self::Unknown => "unknown",
        }
    }
}

/// What an exchange costs. Absent is not known, which is not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Valuation {
    /// All of it. Where there are parts, their sum.
    pub total: Option<NanoUsd>,
    /// What it is made of. The upstream tells no parts.
    pub parts: Option<CostParts>,
    /// How much more the cached part of the prompt would have cost as any other.
    pub saved_by_cache: Option<NanoUsd>,
    /// A count or a price stands in for the right one.
    pub estimated: bool,
    /// The tokens of the prompt are not known: the total is that of the output alone, and too low.
    pub output_only: bool,
    /// Where it is known from.
    pub source: Source,
}

/// The parts of a cost. Absent where there are no such tokens, or where they are not told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CostParts {
    /// The prompt, without what stands below.
    pub input: Option<NanoUsd>,
    /// The part of the prompt that came from a cache.
    pub cached_input: Option<NanoUsd>,
    /// The part of the prompt that was written to a cache.
    pub cache_write: Option<NanoUsd>,
    /// The sound in the prompt.
    pub audio_input: Option<NanoUsd>,
    /// The output, without what stands below.
    pub output: Option<NanoUsd>,
    /// Reasoning.
    pub reasoning: Option<NanoUsd>,
    /// The sound in the output.
    pub audio_output: Option<NanoUsd>,
}

impl CostParts {
    /// All parts together.
    pub fn sum(&self) -> NanoUsd {
        let Self { input, cached_input, cache_write, audio_input, output, reasoning, audio_output } = *self;
        let parts = [input, cached_input, cache_write, audio_input, output, reasoning, audio_output];
        parts.into_iter().flatten().fold(NanoUsd(0), NanoUsd::plus)
    }
}

impl Valuation {
    /// That of an exchange of which nothing is known.
    pub const UNKNOWN: Self = Self {
        total: None,
        parts: None,
        saved_by_cache: None,
        estimated: false,
        output_only: false,
        source: Source::Unknown,
    };
}

/// What an exchange costs, by the best that is known: the upstream's word, the user's, its share of the
/// owned GPUs where there are any, else the price book.
pub(super) fn value(exchange: &Exchange, book: &PriceBook, gpu: Option<Option<Share>>) -> Valuation {
    let answer = &exchange.answer;
    if let Some(cost) = answer.usage.and_then(|usage| usage.cost_nano_usd) {
        let total = Some(NanoUsd(cost));
        return Valuation { total, source: Source::Upstream, ..Valuation::UNKNOWN };
    }
    let (answered, asked) = (answer.model.as_deref(), exchange.request.model.as_deref());
    let by_tokens = |priced| Bill::new(exchange, priced).valuation(&Tokens::of(exchange));
    if let Some(priced) = book.overriding(answered, asked) {
        return by_tokens(priced).unwrap_or(Valuation::UNKNOWN);
    }
    let valuation = match gpu {
        Some(share) => share.map(by_time),
        None => book.listed(answered, asked).and_then(by_tokens),
    };
    valuation.unwrap_or(Valuation::UNKNOWN)
}

/// The share of owned GPUs: what came before the first token is the input's.
fn by_time(share: Share) -> Valuation {
    let part = |usd: f64| Some(NanoUsd::from_usd(usd));
    let parts =
        CostParts { input: part(share.prefill_usd), output: part(share.decode_usd), ..CostParts::default() };
    Valuation {
        total: Some(parts.sum()),
        parts: Some(parts),
        estimated: share.estimated,
        source: Source::Gpu,
        ..Valuation::UNKNOWN
    }
}

/// The prices that hold for one exchange.
#[derive(Debug)]
struct Bill<'a> {
    priced: Priced<'a>,
    tier: Tier,
    prompt: u64,
    estimated: bool,
}

impl<'a> Bill<'a> {
    fn new(exchange: &Exchange, priced: Priced<'a>) -> Self {
        let (tier, certain) = tier(&exchange.request);
        let prompt = exchange.answer.usage.and_then(|usage| usage.input).unwrap_or(0);
        // The user's prices are the same in every tier.
        let estimated = priced.near || !(certain || priced.by_override);
        Self { priced, tier, prompt, estimated }
    }

    fn valuation(mut self, tokens: &Tokens) -> Option<Valuation> {
        self.estimated |= tokens.estimated;
        let mut parts = CostParts::default();
        let mut saved_by_cache = None;
        self.output(tokens.output?, &mut parts)?;
        if let Some(input) = tokens.input {
            saved_by_cache = self.input(input, &mut parts)?;
        } else {
            self.estimated = true;
        }
        let source = if self.priced.by_override { Source::Override } else { Source::PriceBook };
        Some(Valuation {
            total: Some(parts.sum()),
            parts: Some(parts),
            saved_by_cache,
            estimated: self.estimated,
            output_only: tokens.input.is_none(),
            source,
        })
    }

    /// Prices the prompt; `None`: a price is missing. Returns what the cache saved, if that is known.
    fn input(&mut self, tokens: InputTokens, parts: &mut CostParts) -> Option<Option<NanoUsd>> {
        use Kind::{AudioInput, CacheWrite, CacheWriteHour, CachedInput, Input};
        parts.input = self.part(tokens.plain, &[Input])?;
        parts.cached_input = self.part(tokens.cached.unwrap_or(0), &[CachedInput, Input])?;
        let short = self.part(tokens.written, &[CacheWrite, Input])?;
        let hour = self.part(tokens.written_1h, &[CacheWriteHour, CacheWrite, Input])?;
        parts.cache_write = match (short, hour) {
            (Some(short), Some(hour)) => Some(short.plus(hour)),
            (short, hour) => short.or(hour),
        };
        parts.audio_input = self.part(tokens.audio, &[AudioInput, Input])?;
        Some(self.saved(tokens.cached, parts))
    }

    fn saved(&self, cached: Option<u64>, parts: &CostParts) -> Option<NanoUsd> {
        let find = |kind| self.priced.rates.find(kind, self.tier, self.prompt);
        let (_, input) = (find(Kind::CachedInput)?, find(Kind::Input)?);
        let in_full = NanoUsd::of(cached?, input.usd);
        Some(in_full.less(parts.cached_input.unwrap_or_default()))
    }

    /// Prices the output; `None`: a price is missing.
    fn output(&mut self, tokens: OutputTokens, parts: &mut CostParts) -> Option<()> {
        use Kind::{AudioOutput, Output, Reasoning};
        parts.output = self.part(tokens.plain, &[Output])?;
        // Reasoning is output: without a price of its own it has that of the output, and that is right.
        let reasons = self.priced.rates.find(Reasoning, self.tier, self.prompt).is_some();
        let kinds: &[Kind] = if reasons { &[Reasoning] } else { &[Output] };
        parts.reasoning = self.part(tokens.reasoning, kinds)?;
        parts.audio_output = self.part(tokens.audio, &[AudioOutput, Output])?;
        Some(())
    }

    /// Prices tokens as the first kind that has a price; `Some(None)` where there are none. All but the
    /// first kind stand in for it.
    fn part(&mut self, tokens: u64, kinds: &[Kind]) -> Option<Option<NanoUsd>> {
        if tokens == 0 {
            return Some(None);
        }
        let find = |kind: &Kind| self.priced.rates.find(*kind, self.tier, self.prompt);
        let (place, rate) = kinds.iter().enumerate().find_map(|(place, kind)| Some((place, find(kind)?)))?;
        self.estimated |= place > 0 || !(rate.exact || self.priced.by_override);
        Some(Some(NanoUsd::of(tokens, rate.usd)))
    }
}

/// The tier that a request asks for, and whether it is certain that it was served in it.
fn tier(asked: &Asked) -> (Tier, bool) {
    let mut settings = asked.settings.iter();
    let Some(setting) = settings.find(|setting| setting.name == SettingName::ServiceTier) else {
        return (Tier::Standard, true);
    };
    match setting.value.trim_matches('"') {
        "null" | "auto" | "default" | "standard" | "standard_only" | "on_demand" => (Tier::Standard, true),
        // What was asked for may not have been given, and the answer's own word is not on record.
        "priority" => (Tier::Priority, false),
        "flex" => (Tier::Flex, false),
        "batch" => (Tier::Batch, false),
        _ => (Tier::Standard, false),
    }
}
