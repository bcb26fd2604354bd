//! Kinds of values that are lists, or parts of a whole.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use regex::Regex;

use super::kinds::{Fault, Kind, Raw};
use super::units::quoted;
use super::variables::escape;

/// Names of headers that hold secrets have one of these in them.
const SECRET: [&str; 6] = ["auth", "key", "token", "secret", "cookie", "password"];

/// Pairs of names and values, `name=value,name=value`, percent-encoded where a value holds a comma or
/// an equals sign. It is the form of OpenTelemetry's variables.
pub(super) struct Pairs;

impl Kind for Pairs {
    type Value = Vec<(String, String)>;

    fn allowed(&self) -> String {
        "NAME=VALUE,NAME=VALUE".to_owned()
    }

    fn read(&self, raw: &Raw<'_>) -> Result<Self::Value, Fault> {
        pairs(raw.text()?).ok_or(Fault::Form("a list of pairs"))
    }

    fn show(&self, value: &Self::Value) -> String {
        let pairs: Vec<_> = value.iter().map(|(name, value)| format!("{name}={value}")).collect();
        quoted(&pairs.join(","))
    }
}

/// Headers, as pairs. What looks like a secret may stand only in the environment.
pub(super) struct Headers;

impl Kind for Headers {
    type Value = HeaderMap;

    fn allowed(&self) -> String {
        "NAME=VALUE,NAME=VALUE, with \"${NAME}\" for a secret in the environment".to_owned()
    }

    fn read(&self, raw: &Raw<'_>) -> Result<HeaderMap, Fault> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs(raw.text()?).ok_or(Fault::Form("a list of pairs"))? {
            let name = HeaderName::try_from(name).map_err(|_| Fault::Form("a header's name"))?;
            let mut value = HeaderValue::try_from(value).map_err(|_| Fault::Form("a header's value"))?;
            value.set_sensitive(true);
            headers.append(name, value);
        }
        Ok(headers)
    }

    fn show(&self, _: &HeaderMap) -> String {
        quoted("***")
    }

    fn gives_away(&self, text: &str) -> bool {
        text.split(',').filter_map(|pair| pair.split_once('=')).any(|(name, value)| {
            let name = name.to_ascii_lowercase();
            SECRET.iter().any(|word| name.contains(word)) && !value.contains("${")
        })
    }
}

/// `None` for what is no list of pairs.
fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=')?;
            let value = percent_encoding::percent_decode_str(value.trim()).decode_utf8().ok()?;
            (!name.trim().is_empty()).then(|| (name.trim().to_owned(), value.into_owned()))
        })
        .collect()
}

/// A part of a whole, from 0 to 1.
pub(super) struct Ratio;

impl Kind for Ratio {
    type Value = f64;

    fn allowed(&self) -> String {
        "a number from 0 to 1, such as 0.1".to_owned()
    }

    fn read(&self, raw: &Raw<'_>) -> Result<f64, Fault> {
        let number = match raw {
            Raw::Float(number) => *number,
            Raw::Integer(Some(0)) => 0.0,
            Raw::Integer(Some(1)) => 1.0,
            Raw::Integer(Some(number)) => return Err(if *number < 0 { Fault::Low } else { Fault::High }),
            _ => return Err(Fault::Type),
        };
        match number {
            number if number < 0.0 => Err(Fault::Low),
            number if number <= 1.0 => Ok(number),
            _ => Err(Fault::High),
        }
    }

    fn show(&self, value: &f64) -> String {
        format!("{value:?}")
    }
}

/// A share in percent, above 0 and below 100.
pub(super) struct Percent;

impl Kind for Percent {
    type Value = f64;

    fn allowed(&self) -> String {
        "a number above 0 and below 100, such as 99.9".to_owned()
    }

    fn read(&self, raw: &Raw<'_>) -> Result<f64, Fault> {
        match number(raw)? {
            number if number <= 0.0 => Err(Fault::Low),
            number if number < 100.0 => Ok(number),
            _ => Err(Fault::High),
        }
    }

    fn show(&self, value: &f64) -> String {
        format!("{value:?}")
    }
}

/// A share in percent that may be none or all.
pub(super) struct Allowance;

impl Kind for Allowance {
    type Value = f64;

    fn allowed(&self) -> String {
        "a number from 0 to 100, such as 0.5".to_owned()
    }

    fn read(&self, raw: &Raw<'_>) -> Result<f64, Fault> {
        match number(raw)? {
            number if number < 0.0 => Err(Fault::Low),
            number if number <= 100.0 => Ok(number),
            _ => Err(Fault::High),
        }
    }

    fn show(&self, value: &f64) -> String {
        format!("{value:?}")
    }
}

/// An amount of US dollars.
pub(super) struct Dollars;

/// More than any price.
const MAX_DOLLARS: f64 = 1e9;

impl Kind for Dollars {
    type Value = f64;

    fn allowed(&self) -> String {
        "US dollars, a number from 0 up, such as 2.5".to_owned()
    }

    fn read(&self, raw: &Raw<'_>) -> Result<f64, Fault> {
        match number(raw)? {
            number if number < 0.0 => Err(Fault::Low),
            number if number <= MAX_DOLLARS => Ok(number),
            _ => Err(Fault::High),
        }
    }

    fn show(&self, value: &f64) -> String {
        format!("{value:?}")
    }
}

fn number(raw: &Raw<'_>) -> Result<f64, Fault> {
    match raw {
        Raw::Float(number) => Ok(*number),
        Raw::Integer(Some(number)) => Ok(*number as f64),
        _ => Err(Fault::Type),
    }
}

/// Regular expressions.
pub(super) struct Patterns;

impl Kind for Patterns {
    type Value = Vec<Regex>;

    fn allowed(&self) -> String {
        "a list of regular expressions".to_owned()
    }

    fn read(&self, raw: &Raw<'_>) -> Result<Vec<Regex>, Fault> {
        let Raw::Texts(texts) = raw else { return Err(Fault::Type) };
        texts.iter().map(|text| Regex::new(text)).collect::<Result<_, _>>().map_err(|error| {
            // Its own words show the pattern over several lines.
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            Fault::Says(format!("not a regular expression ({last}); allowed: {}", self.allowed()))
        })
    }

    fn show(&self, value: &Vec<Regex>) -> String {
        let patterns: Vec<_> = value.iter().map(|pattern| quoted(&escape(pattern.as_str()))).collect();
        format!("[{}]", patterns.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::{Allowance, Dollars, Headers, Kind, Pairs, Patterns, Ratio, Raw};

    fn read<K: Kind>(kind: &K, raw: &Raw<'_>) -> Option<K::Value> {
        kind.read(raw).ok()
    }

    #[test]
    fn pairs_are_decoded() {
        let list = read(&Pairs, &Raw::Text(" a = b ,c=d%2Ce%3Df,,g=h=i")).unwrap();
        let list: Vec<_> = list.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(list, [("a", "b"), ("c", "d,e=f"), ("g", "h=i")]);
        assert!(read(&Pairs, &Raw::Text("")).unwrap().is_empty());
        for wrong in ["a", "=b", "a=%ff"] {
            assert!(read(&Pairs, &Raw::Text(wrong)).is_none(), "{wrong}");
        }
    }

    #[test]
    fn secrets_do_not_stand_in_a_file() {
        for (text, gives_away) in [
            ("authorization=Bearer ${TOKEN}", false),
            ("x-langfuse-ingestion-version=4", false),
            ("authorization=Bearer abc", true),
            ("x=1,X-API-Key=abc,y=${Z}", true),
            ("", false),
        ] {
            assert_eq!(Headers.gives_away(text), gives_away, "{text}");
        }
        let headers = read(&Headers, &Raw::Text("Authorization=Basic%20abc,x=1,x=2")).unwrap();
        assert_eq!(headers["authorization"], "Basic abc");
        assert_eq!(headers.get_all("x").iter().count(), 2);
        assert!(!format!("{headers:?}").contains("abc"));
        for wrong in ["a b=c", "a=\u{7f}"] {
            assert!(read(&Headers, &Raw::Text(wrong)).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_ratio_lies_between_nothing_and_all() {
        for (raw, expected) in [
            (Raw::Float(0.25), Some(0.25)),
            (Raw::Integer(Some(1)), Some(1.0)),
            (Raw::Integer(Some(2)), None),
            (Raw::Float(1.5), None),
            (Raw::Float(-0.1), None),
            (Raw::Float(f64::NAN), None),
            (Raw::Text("1"), None),
        ] {
            assert_eq!(read(&Ratio, &raw), expected);
        }
        assert_eq!(Ratio.show(&1.0), "1.0");
    }

    #[test]
    fn amounts_and_allowances_begin_at_nothing() {
        for (raw, dollars, allowance) in [
            (Raw::Float(0.0), Some(0.0), Some(0.0)),
            (Raw::Integer(Some(100)), Some(100.0), Some(100.0)),
            (Raw::Float(100.5), Some(100.5), None),
            (Raw::Float(-0.5), None, None),
            (Raw::Float(f64::INFINITY), None, None),
            (Raw::Float(f64::NAN), None, None),
            (Raw::Text("1"), None, None),
        ] {
            assert_eq!((read(&Dollars, &raw), read(&Allowance, &raw)), (dollars, allowance));
        }
    }

    #[test]
    fn a_pattern_that_is_none_says_why() {
        assert_eq!(read(&Patterns, &Raw::Texts(vec!["a+".into(), "b".into()])).unwrap().len(), 2);
        assert!(read(&Patterns, &Raw::Texts(vec!["(".into()])).is_none());
        assert!(read(&Patterns, &Raw::Text("a")).is_none());
    }
}
