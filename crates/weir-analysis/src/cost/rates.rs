//! Prices of one model, in US dollars a token.

/// A way of service that has prices of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tier {
    /// The usual one.
    Standard,
    /// Served before others.
    Priority,
    /// Served when there is room.
    Flex,
    /// In batches.
    Batch,
}

/// What a token can be priced as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Input,
    Output,
    CachedInput,
    CacheWrite,
    CacheWriteHour,
    Reasoning,
    AudioInput,
    AudioOutput,
}

impl Kind {
    pub(super) const ALL: [Self; 8] = [
        Self::Input,
        Self::Output,
        Self::CachedInput,
        Self::CacheWrite,
        Self::CacheWriteHour,
        Self::Reasoning,
        Self::AudioInput,
        Self::AudioOutput,
    ];
}

/// Prices in US dollars a token, by kind. `None`: not known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Prices([Option<f64>; Kind::ALL.len()]);

/// Prices that hold for one tier, and for prompts of more than so many tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    above: u64,
    tier: Tier,
    prices: Prices,
}

/// Every price of one model. Those of a step hold for the whole request, and not only for the tokens
/// beyond it: that is how they are billed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rates {
    /// The highest step first; of one height, in the order of tiers.
    steps: Vec<Step>,
}

/// A price, and whether it is the very one that was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rate {
    pub(super) usd: f64,
    /// It is that of the tier asked for.
    pub(super) exact: bool,
}

impl Rates {
    /// Sets a price.
    pub(super) fn set(&mut self, kind: Kind, above: u64, tier: Tier, usd: f64) {
        let order = |step: &Step| (std::cmp::Reverse(step.above), step.tier);
        let place = match self.steps.binary_search_by_key(&(std::cmp::Reverse(above), tier), order) {
            Ok(place) => place,
            Err(place) => {
                self.steps.insert(place, Step { above, tier, prices: Prices::default() });
                place
            }
        };
        self.steps[place].prices.0[kind as usize] = Some(usd);
    }

    /// The price of a kind in a tier for a prompt of so many tokens: that of the highest step that the
    /// prompt exceeds. Where the tier has none there, it is that of the standard tier.
    pub(super) fn find(&self, kind: Kind, tier: Tier, prompt: u64) -> Option<Rate> {
        let holds = self.steps.iter().filter(|step| prompt > step.above || step.above == 0);
        let priced = holds.filter_map(|step| Some((step, step.prices.0[kind as usize]?)));
        let mut standard: Option<(u64, f64)> = None;
        for (step, usd) in priced {
            if standard.is_some_and(|(above, _)| above > step.above) {
                break;
            }
            if step.tier == tier {
                return Some(Rate { usd, exact: true });
            }
            if step.tier == Tier::Standard {
                standard = Some((step.above, usd));
            }
        }
        standard.map(|(_, usd)| Rate { usd, exact: false })
    }

    /// How many lengths of prompts and tiers have prices of their own.
    pub(super) const fn steps(&self) -> usize {
        self.steps.len()
    }

    /// Whether a token of the input or of the output has a price above zero.
    pub(super) fn says_anything(&self) -> bool {
        let priced = |kind: Kind| {
            self.steps.iter().any(|step| step.prices.0[kind as usize].is_some_and(|usd| usd > 0.0))
        };
        priced(Kind::Input) || priced(Kind::Output)
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Rate, Rates, Tier};

    fn rates() -> Rates {
        let mut rates = Rates::default();
        rates.set(Kind::Input, 0, Tier::Standard, 1.0);
        rates.set(Kind::Input, 200_000, Tier::Standard, 2.0);
        rates.set(Kind::Input, 272_000, Tier::Standard, 3.0);
        rates.set(Kind::Input, 0, Tier::Priority, 10.0);
        rates.set(Kind::Input, 272_000, Tier::Priority, 30.0);
        rates.set(Kind::Output, 0, Tier::Standard, 5.0);
        rates
    }

    #[test]
    fn the_highest_step_that_is_exceeded_holds() {
        let exact = |usd| Some(Rate { usd, exact: true });
        for (prompt, usd) in
            [(0, 1.0), (200_000, 1.0), (200_001, 2.0), (272_000, 2.0), (272_001, 3.0), (u64::MAX, 3.0)]
        {
            assert_eq!(rates().find(Kind::Input, Tier::Standard, prompt), exact(usd), "{prompt}");
        }
        // A kind that has no step of its own keeps its price.
        assert_eq!(rates().find(Kind::Output, Tier::Standard, 300_000), exact(5.0));
        assert_eq!(rates().find(Kind::Reasoning, Tier::Standard, 1), None);
    }

    #[test]
    fn a_tier_without_a_price_goes_by_the_standard_one() {
        let rate = |tier, prompt| rates().find(Kind::Input, tier, prompt).unwrap();
        assert_eq!(rate(Tier::Priority, 100), Rate { usd: 10.0, exact: true });
        assert_eq!(rate(Tier::Priority, 300_000), Rate { usd: 30.0, exact: true });
        // The step weighs more than the tier, as it does for LiteLLM.
        assert_eq!(rate(Tier::Priority, 250_000), Rate { usd: 2.0, exact: false });
        assert_eq!(rate(Tier::Flex, 300_000), Rate { usd: 3.0, exact: false });
    }

    #[test]
    fn a_tier_alone_says_nothing_of_the_standard_one() {
        let mut rates = Rates::default();
        rates.set(Kind::Input, 0, Tier::Batch, 1.0);
        assert_eq!(rates.find(Kind::Input, Tier::Standard, 5), None);
        assert_eq!(rates.find(Kind::Input, Tier::Batch, 5), Some(Rate { usd: 1.0, exact: true }));
        assert!(rates.says_anything());
        rates.set(Kind::Input, 0, Tier::Batch, 0.0);
        assert!(!rates.says_anything());
    }
}
