//! A condition's text, cut into words.

use super::mistake::quoted;
use super::unit::Written;

/// One word and where it begins, in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind<'a>,
    pub(super) offset: usize,
    pub(super) length: usize,
}

/// What a word is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind<'a> {
    /// A name or a keyword.
    Name(&'a str),
    /// A number and what stands right behind it: `2000ms`, `5%`, `2x_baseline`.
    Number(Written<'a>),
    /// A text in quotes, without them.
    Text(String),
    /// `( ) [ ] , > >= < <= == != =`
    Sign(&'a str),
    /// After all of it.
    End,
}

/// What is wrong with a condition, and at which byte of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where it begins.
    pub offset: usize,
    /// What is wrong and what is allowed.
    pub message: String,
}

const SIGNS: [&str; 14] = [">=", "<=", "==", "!=", "&&", "||", ">", "<", "=", "(", ")", "[", "]", ","];

/// Cuts a text. The last token is always an end.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, Fault> {
    let mut tokens = Vec::new();
    let mut offset = 0;
    loop {
        let rest = &text[offset..];
        let skipped = rest.len() - rest.trim_start().len();
        offset += skipped;
        let rest = &rest[skipped..];
        let (kind, length) = token(rest).map_err(|message| Fault { offset, message })?;
        let end = kind == Kind::End;
        tokens.push(Token { kind, offset, length });
        if end {
            return Ok(tokens);
        }
        offset += length;
    }
}

fn token(rest: &str) -> Result<(Kind<'_>, usize), String> {
    let Some(first) = rest.chars().next() else { return Ok((Kind::End, 0)) };
    if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
        return Ok((Kind::Sign(&rest[..sign.len()]), sign.len()));
    }
    match first {
        '"' | '\'' => text(rest, first),
        '0'..='9' | '-' | '.' => number(rest),
        '%' => Ok((Kind::Name("%"), 1)),
        _ if first.is_alphabetic() || first == '_' => {
            let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            Ok((Kind::Name(&rest[..length]), length))
        }
        _ => Err(format!("{} means nothing here", quoted(&first.to_string()))),
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | ':' | '.' | '-')
}

/// Whether a name needs no quotes.
pub(super) fn is_bare(name: &str) -> bool {
    name.starts_with(|c: char| c.is_alphabetic() || c == '_') && name.chars().all(is_name)
}

/// A name as it is written in quotes.
pub(super) fn in_quotes(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

fn number(rest: &str) -> Result<(Kind<'_>, usize), String> {
    let length = rest
        .char_indices()
        .find(|&(at, c)| !(c.is_alphanumeric() || matches!(c, '.' | '_' | '%') || (c == '-' && at == 0)))
        .map_or(rest.len(), |(at, _)| at);
    let text = &rest[..length];
    match Written::parse(text) {
        Some(written) => Ok((Kind::Number(written), length)),
        None => Err(format!("{} is no number", quoted(if text.is_empty() { "-" } else { text }))),
    }
}

fn text(rest: &str, quote: char) -> Result<(Kind<'_>, usize), String> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            _ if c == quote => return Ok((Kind::Text(text), at + 1)),
            '\\' => match chars.next() {
                Some((_, escaped @ ('\\' | '"' | '\''))) => text.push(escaped),
                _ => return Err("in a text, \\ stands only before \\, \" and '".to_owned()),
            },
            _ if c.is_control() => return Err("a text in quotes has no control characters".to_owned()),
            _ => text.push(c),
        }
    }
    Err(format!("the text begins with {quote} and does not end"))
}
