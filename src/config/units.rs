//! Values as text: durations, sizes, strings and keys of TOML.

use std::time::Duration;

const UNITS: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// Reads `250ms`, `5s`, `1h 30m`.
pub(super) fn parse_duration(text: &str) -> Option<Duration> {
    humantime::parse_duration(text).ok()
}

/// Writes what [`parse_duration`] reads.
pub(super) fn show_duration(duration: Duration) -> String {
    humantime::format_duration(duration).to_string()
}

/// Reads `512B`, `64KiB`, `1MiB`, `1GiB`, in bytes. What does not fit is as large as can be.
pub(super) fn parse_size(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let (_, bytes) = UNITS.into_iter().find(|(name, _)| *name == unit.trim_start())?;
    (!number.is_empty()).then(|| number.parse().unwrap_or(u64::MAX).saturating_mul(bytes))
}

/// Writes what [`parse_size`] reads.
pub(super) fn show_size(size: u64) -> String {
    let unit = UNITS.into_iter().find(|(_, bytes)| size >= *bytes && size.is_multiple_of(*bytes));
    let (name, bytes) = unit.unwrap_or(("B", 1));
    format!("{}{name}", size / bytes)
}

/// A string of TOML.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A key of TOML: bare where that is allowed.
pub(super) fn key(name: &str) -> String {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !name.is_empty() && name.bytes().all(bare) { name.to_owned() } else { quoted(name) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{key, parse_duration, parse_size, quoted, show_duration, show_size};

    #[test]
    fn sizes_are_read_and_written() {
        for (text, size) in [
            ("0B", 0),
            ("512B", 512),
            ("64KiB", 65_536),
            ("1MiB", 1 << 20),
            ("1025B", 1_025),
            ("2GiB", 2 << 30),
        ] {
            assert_eq!(parse_size(text), Some(size), "{text}");
            assert_eq!(show_size(size), text);
        }
        assert_eq!(parse_size("64 KiB"), Some(65_536));
        assert_eq!(parse_size("99999999999999999999GiB"), Some(u64::MAX));
        for text in ["", "64", "KiB", "-1B", "1.5MiB", "64kb", "64KB", "1MiB "] {
            assert_eq!(parse_size(text), None, "{text}");
        }
    }

    #[test]
    fn durations_are_read_and_written() {
        for (text, millis) in
            [("250ms", 250), ("4s", 4_000), ("10m", 600_000), ("1h 30m", 5_400_000), ("0s", 0)]
        {
            assert_eq!(parse_duration(text), Some(Duration::from_millis(millis)), "{text}");
            assert_eq!(show_duration(Duration::from_millis(millis)), text);
        }
        assert_eq!(parse_duration("10min"), Some(Duration::from_secs(600)));
        for text in ["", "5", "fast", "-5s", "5 parsecs", "99999999999999999999h"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }

    #[test]
    fn strings_and_keys_are_those_of_toml() {
        assert_eq!(quoted("a\"b\\c\n\u{7f}"), "\"a\\\"b\\\\c\\u000A\\u007F\"");
        assert_eq!(key("max_queued"), "max_queued");
        assert_eq!(key("org/model"), "\"org/model\"");
        assert_eq!(key(""), "\"\"");
    }
}
