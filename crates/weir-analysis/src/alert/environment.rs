//! `${NAME}`: what a file takes from the environment, so that no secret stands in it.

use super::mistake::Mistakes;
use super::secret::Secret;
use super::yaml::Node;

/// Where variables are looked up.
#[derive(Clone, Copy)]
pub(super) struct Environment<'a>(pub(super) &'a dyn Fn(&str) -> Option<String>);

/// A piece of a text.
enum Piece<'a> {
    Text(&'a str),
    Variable(&'a str),
}

impl Environment<'_> {
    /// The text with its variables filled in. What is missing is noted, and never what was filled in.
    pub(super) fn fill(self, node: &Node, written: &str, mistakes: &mut Mistakes) -> Option<String> {
        let Some(pieces) = pieces(written) else {
            mistakes.add(node.place, "${ begins a variable: write ${NAME} with letters, digits and _");
            return None;
        };
        let mut filled = String::new();
        let mut whole = true;
        for piece in pieces {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Variable(name) => match (self.0)(name).filter(|value| !value.is_empty()) {
                    Some(value) => filled.push_str(&value),
                    None => {
                        mistakes.add(node.place, format!("{name} is not set in the environment"));
                        whole = false;
                    }
                },
            }
        }
        whole.then_some(filled)
    }

    /// The same of a text that must come from the environment.
    pub(super) fn secret(
        self,
        node: &Node,
        what: &str,
        written: &str,
        mistakes: &mut Mistakes,
    ) -> Option<Secret> {
        let from_outside = pieces(written)
            .is_none_or(|pieces| pieces.iter().any(|piece| matches!(piece, Piece::Variable(_))));
        if !from_outside {
            mistakes.add(
                node.place,
                format!("{what} is a secret: keep it in the environment and write ${{NAME}}"),
            );
            return None;
        }
        self.fill(node, written, mistakes).map(|filled| Secret::new(&filled))
    }
}

/// Whether a header's name says that its value is a secret.
pub(super) fn is_sensitive(name: &str) -> bool {
    let name = name.to_lowercase();
    ["auth", "cookie", "key", "token", "secret", "password", "signature"]
        .iter()
        .any(|word| name.contains(word))
}

/// `None`: a variable is not written as one is.
fn pieces(text: &str) -> Option<Vec<Piece<'_>>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, behind) = after.split_once('}')?;
        let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if !begins || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return None;
        }
        pieces.push(Piece::Text(before));
        pieces.push(Piece::Variable(name));
        rest = behind;
    }
    pieces.push(Piece::Text(rest));
    Some(pieces)
}
