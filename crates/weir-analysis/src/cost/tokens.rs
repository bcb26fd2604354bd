//! The tokens of an exchange as they are billed.

use weir_core::exchange::Exchange;
use weir_core::outcome::Outcome;
use weir_core::usage::{Provenance, Usage};

/// Tokens by what they are priced as. Those of a side add up to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tokens {
    /// Those of the prompt; `None`: not known.
    pub(super) input: Option<InputTokens>,
    /// Those generated; `None`: not known.
    pub(super) output: Option<OutputTokens>,
    /// Not all is as an engine reported it.
    pub(super) estimated: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct InputTokens {
    pub(super) all: u64,
    pub(super) plain: u64,
    /// Those that came from a cache; `None`: not told.
    pub(super) cached: Option<u64>,
    /// Those that were written to a cache, but for an hour.
    pub(super) written: u64,
    pub(super) written_1h: u64,
    pub(super) audio: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OutputTokens {
    pub(super) all: u64,
    pub(super) plain: u64,
    pub(super) reasoning: u64,
    pub(super) audio: u64,
}

impl Tokens {
    /// What an exchange used.
    pub(super) fn of(exchange: &Exchange) -> Self {
        let answer = &exchange.answer;
        let usage = answer.usage.unwrap_or_default();
        let (output, counted) = output(exchange, &usage);
        let mut estimated = counted;
        let input = usage.input.map(|all| InputTokens::split(all, &usage, &mut estimated));
        let output = output.map(|all| OutputTokens::split(all, &usage, &mut estimated));
        Self { input, output, estimated }
    }

    /// How many are known of.
    pub(super) fn known(&self) -> (u64, u64) {
        (self.input.map_or(0, |input| input.all), self.output.map_or(0, |output| output.all))
    }
}

/// How many were generated, and whether that was counted rather than reported.
fn output(exchange: &Exchange, usage: &Usage) -> (Option<u64>, bool) {
    let answer = &exchange.answer;
    // An embedding has no output: its total is its prompt.
    let rest = usage.total.zip(usage.input).and_then(|(total, input)| total.checked_sub(input));
    if exchange.outcome == Outcome::Completed {
        let count = answer.tokens.map(|tokens| tokens.count);
        let chunks = answer.tokens.is_some_and(|tokens| tokens.provenance == Provenance::CountedChunks);
        return (count.or(usage.output).or(rest), chunks);
    }
    // What broke off may have reported what it had at its beginning: what flowed since counts as well.
    let flowed = answer.output.as_ref().map(|output| output.tokens);
    let count = answer.tokens.map(|tokens| tokens.count);
    (flowed.max(count).max(usage.output).or(rest), true)
}

impl InputTokens {
    /// Where the parts are more than the whole, the parts are cut, in the order in which they stand.
    fn split(all: u64, usage: &Usage, estimated: &mut bool) -> Self {
        let mut plain = all;
        let mut take = |part: u64| take_from(&mut plain, part, estimated);
        let cached = usage.cached_input.map(&mut take);
        let written = take(usage.cache_write_input.unwrap_or(0));
        let audio = take(usage.input_audio.unwrap_or(0));
        let written_1h = usage.cache_write_1h_input.unwrap_or(0).min(written);
        Self { all, plain, cached, written: written - written_1h, written_1h, audio }
    }
}

impl OutputTokens {
    fn split(all: u64, usage: &Usage, estimated: &mut bool) -> Self {
        let mut plain = all;
        let mut take = |part: Option<u64>| take_from(&mut plain, part.unwrap_or(0), estimated);
        let reasoning = take(usage.reasoning);
        let audio = take(usage.output_audio);
        Self { all, plain, reasoning, audio }
    }
}

fn take_from(rest: &mut u64, part: u64, estimated: &mut bool) -> u64 {
    let taken = part.min(*rest);
    *estimated |= taken < part;
    *rest -= taken;
    taken
}
