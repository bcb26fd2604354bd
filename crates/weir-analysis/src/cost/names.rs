//! Which entry of a price book a model's name stands for.

/// Sellers of their own models: their name before a model's changes nothing.
const MAKERS: [&str; 2] = ["openai/", "anthropic/"];

/// As many prefixes of a name are taken off.
const MOST_PREFIXES: usize = 3;

/// How a name was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    /// It is the very one, but for the maker's name.
    Same,
    /// It is one like it: without a seller's name, or without a date.
    Near,
}

/// Looks a name up: as it is, with and without its maker's name, without any seller's; and if that is
/// nowhere, the same without its date.
pub(super) fn find<T>(name: &str, look_up: impl Fn(&str) -> Option<T>) -> Option<(T, Match)> {
    find_dated(name, &look_up).or_else(|| {
        let (found, _) = find_dated(undated(name)?, &look_up)?;
        Some((found, Match::Near))
    })
}

fn find_dated<T>(name: &str, look_up: &impl Fn(&str) -> Option<T>) -> Option<(T, Match)> {
    let same = |found| (found, Match::Same);
    if let Some(found) = look_up(name) {
        return Some(same(found));
    }
    for maker in MAKERS {
        let other = match name.strip_prefix(maker) {
            Some(bare) => look_up(bare),
            None => look_up(&format!("{maker}{name}")),
        };
        if let Some(found) = other {
            return Some(same(found));
        }
    }
    let mut bare = name;
    for _ in 0..MOST_PREFIXES {
        (_, bare) = bare.split_once('/')?;
        if let Some(found) = look_up(bare) {
            return Some((found, Match::Near));
        }
    }
    None
}

/// The name without the date that ends it, `-2024-08-06` or `-20240806`.
fn undated(name: &str) -> Option<&str> {
    let bytes = name.as_bytes();
    let ends_as = |shape: &[u8]| {
        let tail = bytes.len().checked_sub(shape.len()).map(|at| &bytes[at..]);
        let alike =
            |(byte, shape): (&u8, &u8)| if *shape == b'0' { byte.is_ascii_digit() } else { byte == shape };
        tail.is_some_and(|tail| tail.iter().zip(shape).all(alike))
    };
    let shape: &[u8] = [b"-0000-00-00".as_slice(), b"-00000000"].into_iter().find(|shape| ends_as(shape))?;
    // The date is of ASCII alone, so that the cut lies between two characters.
    name.get(..name.len() - shape.len()).filter(|rest| !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{Match, find, undated};

    fn found(name: &str, known: &[&str]) -> Option<(String, Match)> {
        find(name, |name| known.contains(&name).then(|| name.to_owned()))
    }

    #[test]
    fn names_are_found_in_order() {
        for (name, known, expected) in [
            ("gpt-4o", &["gpt-4o", "openai/gpt-4o"][..], Some(("gpt-4o", Match::Same))),
            ("gpt-4o", &["openai/gpt-4o"], Some(("openai/gpt-4o", Match::Same))),
            ("openai/gpt-4o", &["gpt-4o"], Some(("gpt-4o", Match::Same))),
            ("openrouter/openai/gpt-4o", &["gpt-4o"], Some(("gpt-4o", Match::Near))),
            ("openrouter/openai/gpt-4o", &["gpt-4o", "openai/gpt-4o"], Some(("openai/gpt-4o", Match::Near))),
            ("gpt-4o-2024-08-06", &["gpt-4o"], Some(("gpt-4o", Match::Near))),
            ("gpt-4o-2024-08-06", &["gpt-4o", "gpt-4o-2024-08-06"], Some(("gpt-4o-2024-08-06", Match::Same))),
            ("anthropic/claude-x-20250514", &["claude-x"], Some(("claude-x", Match::Near))),
            // A model that someone serves himself is not what others sell under a longer name.
            ("Qwen/Qwen3-8B", &["deepinfra/Qwen/Qwen3-8B"], None),
            ("gpt-4o-mini", &["gpt-4o"], None),
            ("a/b/c/d/e", &["e"], None),
            ("", &["x"], None),
        ] {
            let expected = expected.map(|(name, how)| (name.to_owned(), how));
            assert_eq!(found(name, known), expected, "{name}");
        }
    }

    #[test]
    fn dates_end_a_name() {
        assert_eq!(undated("m-2024-08-06"), Some("m"));
        assert_eq!(undated("m-20240806"), Some("m"));
        for name in ["m-2024-08", "m-0613", "-20240806", "m2024-08-06x", "é", "-2024-08-06", "m-2024-0a-06"]
        {
            assert_eq!(undated(name), None, "{name}");
        }
    }
}
