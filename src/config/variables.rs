//! Variables of the environment inside of strings: `${NAME}`. A `$` of its own is written `$$`.

use std::borrow::Cow;
use std::ffi::OsString;

/// Puts values in place of names, or says of every name why not.
pub(super) fn fill<'t>(
    text: &'t str,
    env: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Cow<'t, str>, Vec<String>> {
    if !text.contains('$') {
        return Ok(Cow::Borrowed(text));
    }
    let (mut filled, mut wrong, mut rest) = (String::new(), Vec::new(), text);
    while let Some((before, after)) = rest.split_once('$') {
        filled.push_str(before);
        let name = after.strip_prefix('{').and_then(|after| after.split_once('}'));
        rest = match (after.strip_prefix('$'), name) {
            (Some(rest), _) => {
                filled.push('$');
                rest
            }
            (None, Some((name, rest))) if is_name(name) => {
                match env(name).map(OsString::into_string) {
                    Some(Ok(value)) => filled.push_str(&value),
                    Some(Err(_)) => wrong.push(format!("the environment variable {name} is not UTF-8")),
                    None => wrong.push(format!("the environment variable {name} is not set")),
                }
                rest
            }
            (None, _) => {
                wrong.push(
                    "a lone `$`; allowed: ${NAME} for an environment variable, $$ for a `$`".to_owned(),
                );
                after
            }
        };
    }
    filled.push_str(rest);
    if wrong.is_empty() { Ok(Cow::Owned(filled)) } else { Err(wrong) }
}

/// A text that [`fill`] leaves as it is.
pub(super) fn escape(text: &str) -> String {
    text.replace('$', "$$")
}

fn is_name(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    name.bytes().next().is_some_and(letter) && name.bytes().all(|byte| letter(byte) || byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::{escape, fill};

    fn env(name: &str) -> Option<OsString> {
        (name == "HOST").then(|| "gpu-7".into())
    }

    #[test]
    fn names_are_replaced_and_dollars_kept() {
        for (text, filled) in [
            ("plain", "plain"),
            ("http://${HOST}:8000", "http://gpu-7:8000"),
            ("${HOST}${HOST}", "gpu-7gpu-7"),
            ("$${HOST}", "${HOST}"),
            ("a$$b", "a$b"),
            ("$$${HOST}", "$gpu-7"),
        ] {
            assert_eq!(fill(text, &env).as_deref(), Ok(filled), "{text}");
            assert_eq!(fill(&escape(text), &env).as_deref(), Ok(text));
        }
    }

    #[test]
    fn every_bad_name_is_told() {
        assert_eq!(fill("${A}${B}", &env).unwrap_err().len(), 2);
        for text in ["$", "$HOST", "${HOST", "${}", "${1A}", "${A B}", "x$"] {
            let wrong = fill(text, &env).unwrap_err();
            assert!(wrong[0].starts_with("a lone `$`"), "{text}: {wrong:?}");
        }
    }
}
