//! JSON, read without building it: [`walk`] for a document at hand, [`skim`] for one that comes
//! in pieces and may be larger than we care to hold.

mod elements;
pub mod skim;
#[cfg(test)]
mod tests;
pub mod walk;

pub use elements::Elements;

/// The text of a raw JSON string (with its quotes), if it is one, well-formed, and not longer than
/// `limit` bytes. Longer is absent, not cut: half a name would be a wrong name.
pub(crate) fn text(raw: &[u8], limit: usize) -> Option<Box<str>> {
    // Escapes only ever shrink, sixfold at most.
    if raw.len() > limit.saturating_mul(6).saturating_add(2) {
        return None;
    }
    serde_json::from_slice::<String>(raw).ok().filter(|text| text.len() <= limit).map(String::into_boxed_str)
}

/// Like [`text`], but cut at `limit` and never absent for being long or not UTF-8: for messages and
/// codes that are shown, not compared.
pub(crate) fn text_cut(raw: &[u8], limit: usize) -> Box<str> {
    let cut = |text: &str| {
        let mut end = limit.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text[..end].into()
    };
    match serde_json::from_slice::<String>(raw) {
        Ok(text) => cut(&text),
        Err(_) => cut(&String::from_utf8_lossy(&raw[..raw.len().min(limit)])),
    }
}

/// Where the string ends whose content begins at `at`: the place of its closing quote.
// Always inlined: each event comes through here once or more, and the call costs as much as a short string.
#[inline(always)]
pub(crate) fn string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += quote_or_backslash(bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        // A backslash takes the next byte with it, whatever that is.
        at += 2;
    }
}

/// Keys and most values are too short for a vector search to pay, so that the first bytes are
/// looked at eight at a time.
#[inline]
fn quote_or_backslash(bytes: &[u8]) -> Option<usize> {
    const WORDS: usize = 3;
    let mut at = 0;
    for _ in 0..WORDS {
        let Some(word) = bytes[at..].first_chunk::<8>() else {
            let rest = bytes[at..].iter();
            return rest.copied().position(|byte| matches!(byte, b'"' | b'\\')).map(|n| n + at);
        };
        let word = u64::from_le_bytes(*word);
        let found = zero_bytes(word ^ every(b'"')) | zero_bytes(word ^ every(b'\\'));
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    memchr::memchr2(b'"', b'\\', &bytes[at..]).map(|n| n + at)
}

const fn every(byte: u8) -> u64 {
    byte as u64 * 0x0101_0101_0101_0101
}

/// The high bit of each byte that is zero. Bytes above the lowest such may be set in error, which
/// does not matter to who looks for the lowest.
const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(every(1)) & !word & every(0x80)
}
