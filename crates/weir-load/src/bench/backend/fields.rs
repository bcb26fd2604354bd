//! Members of JSON of which only little is wanted, read without keeping the rest.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A text, borrowed where it has no escapes. Whatever is no text is an empty one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

/// Whether a member says something: neither null nor false nor empty, as Python sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Truthy(pub(super) bool);

/// How many elements a list has; `None` for what is no list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count(pub(super) Option<u32>);

/// Whether a key is there at all, whatever its value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Present(pub(super) bool);

impl<'de> Deserialize<'de> for Present {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Present(true))
    }
}

/// A null is as good as nothing.
pub(super) fn or_default<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Deserialize<'de> + Default,
    D: Deserializer<'de>,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// What an error says, where there is one: its message, else its JSON.
pub(super) fn error_text(error: Option<&RawValue>) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Inner<'a> {
        #[serde(borrow, default)]
        message: Text<'a>,
    }
    let error = error?.get();
    if matches!(error, "null" | "false" | "\"\"" | "{}" | "[]" | "0") {
        return None;
    }
    let message = serde_json::from_str::<Inner<'_>>(error).map(|inner| inner.message.0).unwrap_or_default();
    Some(if message.is_empty() { error.to_owned() } else { message.into_owned() })
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(text.to_owned())))
    }

    fn visit_unit<E: Error>(self) -> Result<Text<'de>, E> {
        Ok(Text::default())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Text<'de>, E> {
        Ok(Text::default())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Text<'de>, E> {
        Ok(Text::default())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Text<'de>, E> {
        Ok(Text::default())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Text<'de>, E> {
        Ok(Text::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Text<'de>, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Text::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text<'de>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Text::default())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

/// Sees every value as its size: a list's or a map's length, a text's bytes, a number.
struct SizeVisitor;

/// What [`SizeVisitor`] saw.
struct Size {
    is_list: bool,
    size: u32,
}

impl Size {
    fn scalar<E>(truthy: bool) -> Result<Self, E> {
        Ok(Size { is_list: false, size: u32::from(truthy) })
    }
}

impl<'de> Visitor<'de> for SizeVisitor {
    type Value = Size;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Size, E> {
        Size::scalar(!text.is_empty())
    }

    fn visit_unit<E: Error>(self) -> Result<Size, E> {
        Size::scalar(false)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Size, E> {
        Size::scalar(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Size, E> {
        Size::scalar(value != 0.0)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Size, E> {
        Size::scalar(value != 0)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Size, E> {
        Size::scalar(value != 0)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Size, A::Error> {
        let mut size = 0u32;
        while list.next_element::<IgnoredAny>()?.is_some() {
            size = size.saturating_add(1);
        }
        Ok(Size { is_list: true, size })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Size, A::Error> {
        let mut size = 0u32;
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            size = size.saturating_add(1);
        }
        Ok(Size { is_list: false, size })
    }
}

impl<'de> Deserialize<'de> for Truthy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SizeVisitor).map(|seen| Truthy(seen.size > 0))
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SizeVisitor).map(|seen| Count(seen.is_list.then_some(seen.size)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_borrowed_where_they_can_be() {
        assert!(matches!(serde_json::from_str::<Text<'_>>("\"ab\"").unwrap().0, Cow::Borrowed("ab")));
        assert_eq!(serde_json::from_str::<Text<'_>>(r#""a\nb""#).unwrap().0, "a\nb");
        for other in ["null", "1", "-1.5", "true", "[1,[2]]", r#"{"a":{}}"#] {
            assert_eq!(serde_json::from_str::<Text<'_>>(other).unwrap(), Text::default(), "{other}");
        }
    }

    #[test]
    fn truth_is_as_in_python() {
        for (json, truthy) in [
            ("null", false),
            ("\"\"", false),
            ("\"a\"", true),
            ("[]", false),
            ("[0]", true),
            ("{}", false),
            (r#"{"a":null}"#, true),
            ("0", false),
            ("2", true),
            ("false", false),
        ] {
            assert_eq!(serde_json::from_str::<Truthy>(json).unwrap(), Truthy(truthy), "{json}");
        }
    }

    #[test]
    fn only_lists_are_counted() {
        assert_eq!(serde_json::from_str::<Count>("[1,2,[3,4]]").unwrap(), Count(Some(3)));
        assert_eq!(serde_json::from_str::<Count>("null").unwrap(), Count(None));
        assert_eq!(serde_json::from_str::<Count>("{\"a\":1}").unwrap(), Count(None));
    }
}
