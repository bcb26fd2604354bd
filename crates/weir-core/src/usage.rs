//! Token counts, and where they come from.

use serde::{Deserialize, Serialize};

use crate::json::walk::{Kind, Walker};

/// Where a token count comes from. The order is that of trust, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provenance {
    /// The usage object of the answer.
    Reported,
    /// The engine's own timings, where the answer has no usage object.
    EngineTimings,
    /// The token ids that came with the chunks.
    TokenIds,
    /// The log probabilities that came with the chunks, one per token.
    Logprobs,
    /// The chunks themselves. A chunk can carry several tokens: this is a stand-in, not a count.
    CountedChunks,
}

impl Provenance {
    /// The name as it stands in records and labels.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reported => "reported",
            Self::EngineTimings => "engine_timings",
            Self::TokenIds => "token_ids",
            Self::Logprobs => "logprobs",
            Self::CountedChunks => "counted_chunks",
        }
    }
}

/// Token counts of one exchange. Absent means unknown, which is not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt, cached ones included.
    pub input: Option<u64>,
    /// Tokens generated, reasoning included.
    pub output: Option<u64>,
    /// The total as it was reported. It need not be the sum of the two.
    pub total: Option<u64>,
    /// Prompt tokens that came from a cache.
    pub cached_input: Option<u64>,
    /// Prompt tokens that were written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_input: Option<u64>,
    /// Those of them that were written to be kept for five minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_5m_input: Option<u64>,
    /// Those of them that were written to be kept for an hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_1h_input: Option<u64>,
    /// Output tokens spent on reasoning.
    pub reasoning: Option<u64>,
    /// Prompt tokens that stand for sound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_audio: Option<u64>,
    /// Output tokens that stand for sound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_audio: Option<u64>,
    /// What the upstream says that this cost, in 10⁻⁹ US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_nano_usd: Option<u64>,
}

impl Usage {
    /// Whether the object says all that its kind can say: both sides of a generation, or the
    /// prompt and the total of an embedding.
    pub const fn is_complete(&self) -> bool {
        self.input.is_some() && (self.output.is_some() || self.total.is_some())
    }

    /// Reads a usage object of any OpenAI-compatible server. `None` if it is not an object, or
    /// says nothing that we know.
    pub fn read(json: &[u8]) -> Option<Self> {
        let mut walker = Walker::new(json);
        Self::walk(&mut walker).filter(|_| !walker.failed())
    }

    /// Reads the usage object at the walker's place and moves past it.
    pub(crate) fn walk(walker: &mut Walker<'_>) -> Option<Self> {
        if walker.peek() != Kind::Object {
            walker.skip();
            return None;
        }
        let mut usage = Self::default();
        let mut cached = None;
        walker.object(|walker, key| match key {
            b"prompt_tokens" | b"input_tokens" => take(walker, &mut usage.input),
            b"completion_tokens" | b"output_tokens" => take(walker, &mut usage.output),
            b"total_tokens" => usage.total = walker.unsigned(),
            b"reasoning_tokens" => take(walker, &mut usage.reasoning),
            b"cached_tokens" | b"prompt_cache_hit_tokens" => take(walker, &mut cached),
            b"cost" => usage.cost_nano_usd = cost(walker),
            // The singular is that of transcriptions.
            b"prompt_tokens_details" | b"input_tokens_details" | b"input_token_details" => {
                walker.object(|walker, key| match key {
                    b"cached_tokens" => take(walker, &mut usage.cached_input),
                    b"cache_write_tokens" | b"created_cache_tokens" => {
                        take(walker, &mut usage.cache_write_input);
                    }
                    b"audio_tokens" => take(walker, &mut usage.input_audio),
                    _ => walker.skip(),
                });
            }
            b"completion_tokens_details" | b"output_tokens_details" => {
                walker.object(|walker, key| match key {
                    b"reasoning_tokens" => take(walker, &mut usage.reasoning),
                    b"audio_tokens" => take(walker, &mut usage.output_audio),
                    _ => walker.skip(),
                });
            }
            _ => walker.skip(),
        });
        usage.cached_input = usage.cached_input.or(cached);
        (usage != Self::default()).then_some(usage)
    }

    /// Reads the timings object of llama.cpp, which counts cached prompt tokens apart.
    pub(crate) fn walk_timings(walker: &mut Walker<'_>) -> Option<Self> {
        if walker.peek() != Kind::Object {
            walker.skip();
            return None;
        }
        let (mut prompt, mut cached, mut predicted) = (None, None, None);
        walker.object(|walker, key| match key {
            b"prompt_n" => prompt = walker.unsigned(),
            b"cache_n" => cached = walker.unsigned(),
            b"predicted_n" => predicted = walker.unsigned(),
            _ => walker.skip(),
        });
        let usage = Self {
            input: prompt.map(|n| n.saturating_add(cached.unwrap_or(0))),
            output: predicted,
            cached_input: cached,
            ..Self::default()
        };
        (usage.input.is_some() || usage.output.is_some()).then_some(usage)
    }

    /// Takes a later object in place of this one, unless that would lose what is known: running
    /// totals grow, so the last complete object is the one that holds.
    pub(crate) fn replace_by(slot: &mut Option<Self>, later: Self) {
        if later.is_complete() || !slot.is_some_and(|known| known.is_complete()) {
            *slot = Some(later);
        }
    }

    /// The counts of two answers together, for batches that report each prompt on its own.
    pub(crate) fn plus(self, other: Self) -> Self {
        let add = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        Self {
            input: add(self.input, other.input),
            output: add(self.output, other.output),
            total: add(self.total, other.total),
            cached_input: add(self.cached_input, other.cached_input),
            cache_write_input: add(self.cache_write_input, other.cache_write_input),
            cache_write_5m_input: add(self.cache_write_5m_input, other.cache_write_5m_input),
            cache_write_1h_input: add(self.cache_write_1h_input, other.cache_write_1h_input),
            reasoning: add(self.reasoning, other.reasoning),
            input_audio: add(self.input_audio, other.input_audio),
            output_audio: add(self.output_audio, other.output_audio),
            cost_nano_usd: add(self.cost_nano_usd, other.cost_nano_usd),
        }
    }
}

/// Takes the number at the walker's place, if it is one, and moves past it.
pub(crate) fn take(walker: &mut Walker<'_>, slot: &mut Option<u64>) {
    *slot = walker.unsigned().or(*slot);
}

/// A cost in US dollars: a number, or Perplexity's object with a total.
fn cost(walker: &mut Walker<'_>) -> Option<u64> {
    let mut total = None;
    if walker.peek() == Kind::Object {
        walker.object(|walker, key| match key {
            b"total_cost" => total = Some(walker.raw()),
            _ => walker.skip(),
        });
    } else {
        total = Some(walker.raw());
    }
    let dollars = serde_json::from_slice::<f64>(total?).ok().filter(|dollars| *dollars >= 0.0)?;
    Some((dollars * 1e9).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::Usage;

    #[test]
    fn reads_every_spelling() {
        let openai = br#"{ "prompt_tokens" : 9, "completion_tokens": 12, "total_tokens": 21,
            "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": null},
            "completion_tokens_details": {"reasoning_tokens": 7} }"#;
        let expected = Usage {
            input: Some(9),
            output: Some(12),
            total: Some(21),
            cached_input: Some(4),
            reasoning: Some(7),
            ..Usage::default()
        };
        assert_eq!(Usage::read(openai), Some(expected));
        let other = br#"{"input_tokens":9,"output_tokens":12,"total_tokens":21,
            "prompt_cache_hit_tokens":4,"reasoning_tokens":7,"completion_tokens_details":null}"#;
        assert_eq!(Usage::read(other), Some(expected));
    }

    #[test]
    fn null_and_nonsense_are_unknown_not_zero() {
        let usage = Usage::read(br#"{"prompt_tokens":null,"completion_tokens":0}"#).unwrap();
        assert_eq!((usage.input, usage.output), (None, Some(0)));
        for nothing in ["null", "[]", "3", "{}", r#"{"cost":null}"#, r#"{"prompt_tokens":"#] {
            assert_eq!(Usage::read(nothing.as_bytes()), None, "{nothing}");
        }
        assert_eq!(Usage::read(br#"{"prompt_tokens":-3,"completion_tokens":"7"}"#), None);
    }

    #[test]
    fn tokens_written_to_a_cache_have_two_names() {
        for name in ["cache_write_tokens", "created_cache_tokens"] {
            let usage = format!(r#"{{"prompt_tokens":9,"prompt_tokens_details":{{"{name}":5}}}}"#);
            assert_eq!(Usage::read(usage.as_bytes()).unwrap().cache_write_input, Some(5), "{name}");
        }
    }

    #[test]
    fn sound_is_counted_on_both_sides() {
        let chat = br#"{"prompt_tokens":120,"completion_tokens":80,"total_tokens":200,
            "prompt_tokens_details":{"cached_tokens":0,"audio_tokens":100},
            "completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":60}}"#;
        let usage = Usage::read(chat).unwrap();
        assert_eq!((usage.input_audio, usage.output_audio), (Some(100), Some(60)));
        let responses = br#"{"input_tokens":120,"input_tokens_details":{"audio_tokens":100},
            "output_tokens":80,"output_tokens_details":{"audio_tokens":60}}"#;
        let usage = Usage::read(responses).unwrap();
        assert_eq!((usage.input_audio, usage.output_audio), (Some(100), Some(60)));
        let transcription = br#"{"type":"tokens","input_tokens":14,"output_tokens":45,"total_tokens":59,
            "input_token_details":{"text_tokens":10,"audio_tokens":4}}"#;
        let usage = Usage::read(transcription).unwrap();
        assert_eq!((usage.input, usage.input_audio, usage.output_audio), (Some(14), Some(4), None));
        let null = br#"{"prompt_tokens":9,"prompt_tokens_details":{"audio_tokens":null}}"#;
        assert_eq!(Usage::read(null).unwrap().input_audio, None);
    }

    #[test]
    fn a_record_from_before_sound_was_counted_still_reads() {
        let old = r#"{"input":9,"output":3,"total":12,"cached_input":null,"reasoning":null}"#;
        let usage: Usage = serde_json::from_str(old).unwrap();
        assert_eq!((usage.input, usage.input_audio, usage.cache_write_1h_input), (Some(9), None, None));
        assert_eq!(serde_json::to_string(&usage).unwrap(), old);
    }

    #[test]
    fn a_record_names_cache_writes_only_where_there_are_some() {
        let without = Usage { input: Some(9), ..Usage::default() };
        let text = serde_json::to_string(&without).unwrap();
        assert!(!text.contains("cache_write"), "{text}");
        assert_eq!(serde_json::from_str::<Usage>(&text).unwrap(), without);
        let with = Usage { cache_write_input: Some(3), ..without };
        let text = serde_json::to_string(&with).unwrap();
        assert!(text.contains(r#""cache_write_input":3"#), "{text}");
        assert_eq!(serde_json::from_str::<Usage>(&text).unwrap(), with);
    }

    #[test]
    fn a_cost_is_taken_where_the_upstream_tells_one() {
        for (cost, expected) in [
            ("0.00014", Some(140_000)),
            ("3.5e-8", Some(35)),
            ("0", Some(0)),
            (r#"{"input_tokens_cost":1,"total_cost":0.006}"#, Some(6_000_000)),
            ("-1", None),
            ("null", None),
            (r#""0.1""#, None),
            ("{}", None),
        ] {
            let usage = Usage::read(format!(r#"{{"prompt_tokens":9,"cost":{cost}}}"#).as_bytes()).unwrap();
            assert_eq!((usage.input, usage.cost_nano_usd), (Some(9), expected), "{cost}");
        }
    }

    #[test]
    fn partial_objects_never_replace_full_ones() {
        let full = Usage { input: Some(10), output: Some(50), ..Usage::default() };
        let partial = Usage { cached_input: Some(0), ..Usage::default() };
        let mut slot = None;
        Usage::replace_by(&mut slot, partial);
        assert_eq!(slot, Some(partial));
        Usage::replace_by(&mut slot, full);
        Usage::replace_by(&mut slot, partial);
        assert_eq!(slot, Some(full));
        let later = Usage { output: Some(51), ..full };
        Usage::replace_by(&mut slot, later);
        assert_eq!(slot, Some(later));
    }
}
