//! The price file of LiteLLM, `model_prices_and_context_window.json`: a map from the name of a model to an
//! object, with prices in US dollars a token.

use std::collections::HashMap;
use std::fmt;

use serde::Deserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::rates::{Kind, Rates, Tier};

/// More entries than this are not read: the file is refused.
pub const MAX_ENTRIES: usize = 100_000;

/// As many warnings are told one by one. All are counted.
pub const LISTED_WARNINGS: usize = 20;

/// Longer names of models are not taken.
const LONGEST_NAME: usize = 256;

/// An entry with more lengths of prompts and tiers than this is left out.
const MOST_STEPS: usize = 32;

/// No token costs a dime. A price above that is most likely one for a million tokens.
const DEAREST_TOKEN_USD: f64 = 0.1;

/// The entry that explains the others.
const SAMPLE: &str = "sample_spec";

/// Why a price file cannot be used at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriceFileError {
    /// The line, counted from one.
    pub line: usize,
    /// The column, counted from one.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for PriceFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for PriceFileError {}

/// Entries of a price file that were left out because something is wrong with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warnings {
    /// The first [`LISTED_WARNINGS`], each with the name of its entry.
    pub listed: Vec<String>,
    /// How many there are.
    pub count: u64,
}

impl Warnings {
    fn add(&mut self, name: &str, what: &str) {
        self.count += 1;
        if self.listed.len() < LISTED_WARNINGS {
            let short: String = name.chars().take(LONGEST_NAME).collect();
            self.listed.push(format!("`{short}`: {what}"));
        }
    }
}

/// What a price file says.
#[derive(Debug, Default)]
pub(super) struct PriceFile {
    pub(super) models: HashMap<Box<str>, Rates>,
    /// Entries that price no token: images, searches, what is free or has no price.
    pub(super) unpriced: u64,
    pub(super) warnings: Warnings,
}

/// Reads a price file. One entry that is wrong is left out; what is no such file is an error.
pub(super) fn read(json: &[u8]) -> Result<PriceFile, PriceFileError> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let read = (&mut deserializer).deserialize_map(Entries);
    read.and_then(|file| deserializer.end().map(|()| file)).map_err(|error| {
        let place = format!(" at line {} column {}", error.line(), error.column());
        let message = error.to_string().replace(&place, "");
        PriceFileError { line: error.line(), column: error.column(), message }
    })
}

struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = PriceFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map from the names of models to their prices")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PriceFile, A::Error> {
        let mut file = PriceFile::default();
        let mut entries = 0;
        while let Some(name) = map.next_key::<String>()? {
            let raw = map.next_value::<&RawValue>()?;
            entries += 1;
            if entries > MAX_ENTRIES {
                return Err(A::Error::custom(format_args!("more than {MAX_ENTRIES} entries")));
            }
            if name != SAMPLE {
                file.enter(name, raw);
            }
        }
        Ok(file)
    }
}

impl PriceFile {
    fn enter(&mut self, name: String, raw: &RawValue) {
        if name.is_empty() || name.len() > LONGEST_NAME {
            self.warnings.add(&name, "the name is empty or too long");
            return;
        }
        match serde_json::from_str::<Map<String, Value>>(raw.get()) {
            Err(_) => self.warnings.add(&name, "not an object"),
            Ok(entry) => match rates(&entry) {
                Err(what) => self.warnings.add(&name, &what),
                Ok(rates) if rates.says_anything() => {
                    self.models.insert(name.into(), rates);
                }
                Ok(_) => self.unpriced += 1,
            },
        }
    }
}

/// The prices of one entry. What is not a price of tokens is passed over.
fn rates(entry: &Map<String, Value>) -> Result<Rates, String> {
    let mut rates = Rates::default();
    if let Some(tiers) = entry.get("tiered_pricing") {
        tiered(tiers, &mut rates)?;
    }
    for (key, value) in entry {
        if let Some((kind, above, tier)) = priced_by(key)
            && let Some(usd) = price(key, value)?
            // Where there are ranges, they hold: a flat price beside them is that of the first.
            && (above > 0 || rates.find(kind, tier, 0).is_none_or(|known| !known.exact))
        {
            set(&mut rates, (kind, above, tier), usd)?;
        }
    }
    Ok(rates)
}

/// Reads `tiered_pricing`: a list of ranges of the prompt, each with its prices.
fn tiered(tiers: &Value, rates: &mut Rates) -> Result<(), String> {
    let wrong = || "`tiered_pricing` is not a list of ranges with prices".to_owned();
    for tier in tiers.as_array().ok_or_else(wrong)? {
        let tier = tier.as_object().ok_or_else(wrong)?;
        // Searches have ranges of another kind.
        let Some(range) = tier.get("range") else { continue };
        let from = range.get(0).and_then(Value::as_f64).filter(|from| *from >= 0.0).ok_or_else(wrong)?;
        for (key, value) in tier {
            if let Some((kind, 0, service)) = priced_by(key)
                && let Some(usd) = price(key, value)?
            {
                set(rates, (kind, from as u64, service), usd)?;
            }
        }
    }
    Ok(())
}

fn set(rates: &mut Rates, (kind, above, tier): (Kind, u64, Tier), usd: f64) -> Result<(), String> {
    rates.set(kind, above, tier, usd);
    if rates.steps() > MOST_STEPS { Err(format!("more than {MOST_STEPS} steps")) } else { Ok(()) }
}

/// A price in US dollars a token; `None` for a null.
fn price(key: &str, value: &Value) -> Result<Option<f64>, String> {
    match value.as_f64() {
        _ if value.is_null() => Ok(None),
        None => Err(format!("`{key}` is not a number")),
        Some(usd) if usd < 0.0 => Err(format!("`{key}` is negative")),
        Some(usd) if usd > DEAREST_TOKEN_USD => {
            Err(format!("`{key}` is {usd} US dollars a token: is it the price of a million?"))
        }
        Some(usd) => Ok(Some(usd)),
    }
}

/// What a key prices: the kind of token, above which length of the prompt, in which tier.
fn priced_by(key: &str) -> Option<(Kind, u64, Tier)> {
    let (mut base, mut above, mut tier) = (key, 0, Tier::Standard);
    // Both come in either order.
    loop {
        if let Some((rest, named)) = tier_suffix(base).filter(|_| tier == Tier::Standard) {
            (base, tier) = (rest, named);
        } else if let Some((rest, tokens)) = above_suffix(base).filter(|_| above == 0) {
            (base, above) = (rest, tokens);
        } else {
            break;
        }
    }
    let kind = match base {
        "input_cost_per_token" => Kind::Input,
        "output_cost_per_token" => Kind::Output,
        "cache_read_input_token_cost" => Kind::CachedInput,
        "cache_creation_input_token_cost" => Kind::CacheWrite,
        "cache_creation_input_token_cost_above_1hr" => Kind::CacheWriteHour,
        "output_cost_per_reasoning_token" => Kind::Reasoning,
        "input_cost_per_audio_token" => Kind::AudioInput,
        "output_cost_per_audio_token" => Kind::AudioOutput,
        _ => return None,
    };
    Some((kind, above, tier))
}

fn tier_suffix(key: &str) -> Option<(&str, Tier)> {
    [("_priority", Tier::Priority), ("_flex", Tier::Flex), ("_batches", Tier::Batch)]
        .into_iter()
        .find_map(|(suffix, tier)| Some((key.strip_suffix(suffix)?, tier)))
}

fn above_suffix(key: &str) -> Option<(&str, u64)> {
    let (base, number) = key.strip_suffix("_tokens")?.rsplit_once("_above_")?;
    let tokens = match number.strip_suffix('k') {
        Some(thousands) => thousands.parse::<u64>().ok()?.checked_mul(1_000)?,
        None => number.parse().ok()?,
    };
    (tokens > 0).then_some((base, tokens))
}

#[cfg(test)]
mod tests {
    use super::{Kind, MAX_ENTRIES, PriceFile, Tier, priced_by, read};

    fn file(json: &str) -> PriceFile {
        read(json.as_bytes()).unwrap()
    }

    #[test]
    fn keys_say_kind_step_and_tier() {
        for (key, expected) in [
            ("input_cost_per_token", Some((Kind::Input, 0, Tier::Standard))),
            ("output_cost_per_token_flex", Some((Kind::Output, 0, Tier::Flex))),
            ("input_cost_per_token_above_200k_tokens", Some((Kind::Input, 200_000, Tier::Standard))),
            ("input_cost_per_token_above_200k_tokens_priority", Some((Kind::Input, 200_000, Tier::Priority))),
            ("input_cost_per_token_priority_above_200k_tokens", Some((Kind::Input, 200_000, Tier::Priority))),
            ("cache_read_input_token_cost_above_128_tokens", Some((Kind::CachedInput, 128, Tier::Standard))),
            (
                "cache_creation_input_token_cost_above_1hr_above_200k_tokens",
                Some((Kind::CacheWriteHour, 200_000, Tier::Standard)),
            ),
            ("output_cost_per_audio_token_batches", Some((Kind::AudioOutput, 0, Tier::Batch))),
            ("cache_creation_input_token_cost_above_12hr", None),
            ("input_cost_per_token_balanced", None),
            ("output_cost_per_image", None),
            ("input_cost_per_token_above_k_tokens", None),
            ("input_cost_per_token_priority_priority", None),
        ] {
            assert_eq!(priced_by(key), expected, "{key}");
        }
    }

    #[test]
    fn what_prices_no_token_is_no_entry_and_no_mistake() {
        let file = file(
            r#"{"sample_spec":{"input_cost_per_token":"prose"},
                "free":{"input_cost_per_token":0,"output_cost_per_token":0.0},
                "pictures":{"output_cost_per_image":0.04,"mode":"image_generation"},
                "silent":{"litellm_provider":"x"},
                "half":{"input_cost_per_token":1e-7,"output_cost_per_token":0,"cache_read_input_token_cost":null}}"#,
        );
        assert_eq!((file.models.len(), file.unpriced, file.warnings.count), (1, 3, 0));
        let half = &file.models["half"];
        assert_eq!(half.find(Kind::Output, Tier::Standard, 1).unwrap().usd, 0.0);
        assert_eq!(half.find(Kind::CachedInput, Tier::Standard, 1), None);
    }

    #[test]
    fn one_bad_entry_is_left_out_and_named() {
        let file = file(
            r#"{"a":{"input_cost_per_token":"2.5e-06"},"b":{"input_cost_per_token":-1e-6},
                "c":{"input_cost_per_token":2.5},"d":7,"":{},
                "e":{"tiered_pricing":[{"range":"all","input_cost_per_token":1e-6}]},
                "good":{"input_cost_per_token":2.5e-06}}"#,
        );
        assert_eq!(file.models.keys().map(AsRef::as_ref).collect::<Vec<_>>(), ["good"]);
        assert_eq!(file.warnings.count, 6);
        let all = file.warnings.listed.join("\n");
        for part in [
            "`a`: `input_cost_per_token` is not a number",
            "`b`: `input_cost_per_token` is negative",
            "`c`: `input_cost_per_token` is 2.5 US dollars a token",
            "`d`: not an object",
            "``: the name",
            "`e`: `tiered_pricing`",
        ] {
            assert!(all.contains(part), "{part} in {all}");
        }
    }

    #[test]
    fn what_is_no_price_file_is_refused_with_its_place() {
        for (json, line, column, message) in [
            ("", 1, 0, "EOF"),
            ("[1]", 1, 1, "invalid type"),
            ("null", 1, 4, "invalid type"),
            ("{\"a\":{}\n\"b\":{}}", 2, 1, "expected `,`"),
            ("{\"a\":{}}\n x", 2, 2, "trailing characters"),
            ("{\"a\":{\"b\":1e}}", 1, 13, "number"),
        ] {
            let error = read(json.as_bytes()).unwrap_err();
            assert!(error.message.contains(message), "{json}: {error}");
            assert!(!error.message.contains("at line"), "{error}");
            assert_eq!((error.line, error.column.abs_diff(column) <= 1), (line, true), "{json}: {error}");
        }
        assert!(read(&[0xff, 0xfe, b'{']).is_err());
    }

    #[test]
    fn a_file_with_too_many_entries_is_refused() {
        let entries: Vec<_> = (0..=MAX_ENTRIES).map(|n| format!("\"{n}\":{{}}")).collect();
        let error = read(format!("{{{}}}", entries.join(",")).as_bytes()).unwrap_err();
        assert!(error.message.contains("more than 100000 entries"), "{error}");
        let fits = read(format!("{{{}}}", entries[1..].join(",")).as_bytes()).unwrap();
        assert_eq!(fits.unpriced, MAX_ENTRIES as u64);
    }

    #[test]
    fn ranges_of_the_prompt_are_steps() {
        let file = file(
            r#"{"q":{"input_cost_per_token":5e-8,"tiered_pricing":[
                {"range":[0,256000.0],"input_cost_per_token":5e-8,"output_cost_per_token":4e-7},
                {"range":[256000.0,1000000.0],"input_cost_per_token":2.5e-7,"output_cost_per_token":2e-6}]}}"#,
        );
        let usd = |kind, prompt| file.models["q"].find(kind, Tier::Standard, prompt).unwrap().usd;
        assert_eq!((usd(Kind::Input, 256_000), usd(Kind::Input, 256_001)), (5e-8, 2.5e-7));
        assert_eq!((usd(Kind::Output, 1), usd(Kind::Output, 2_000_000)), (4e-7, 2e-6));
    }
}
