//! Counts the elements of one array of a document that comes in pieces.

use super::walk::Kind;

/// The elements of an array, as far as they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elements {
    /// How many began.
    pub count: u32,
    /// What the first is; `Nothing` as long as there is none.
    pub first: Kind,
    /// Whether the array was closed, so that these are all.
    pub closed: bool,
    /// The depth at which they stand.
    depth: usize,
    /// The next value is another element, and not a part of the last.
    expected: bool,
}

impl Elements {
    /// Of an array that was just opened, whose elements stand at `depth`.
    pub(super) fn at(depth: usize) -> Self {
        Self { count: 0, first: Kind::Nothing, closed: false, depth, expected: true }
    }

    /// A value begins with this byte at `depth`.
    pub(super) fn value(&mut self, byte: u8, depth: usize) {
        if self.closed || !self.expected || depth != self.depth {
            return;
        }
        self.expected = false;
        self.count = self.count.saturating_add(1);
        if self.count == 1 {
            self.first = Kind::of(byte);
        }
    }

    /// A comma stands at `depth`.
    pub(super) fn comma(&mut self, depth: usize) {
        self.expected |= depth == self.depth;
    }

    /// An array or object was closed, which leaves the document at `depth`.
    pub(super) fn close(&mut self, depth: usize) {
        self.closed |= depth < self.depth;
    }
}

#[cfg(test)]
mod tests {
    use super::super::skim::Skim;
    use super::Kind;

    /// How many, of which kind, and whether they are all.
    fn elements(json: &str) -> Option<(u32, Kind, bool)> {
        let read = |size: usize| {
            let mut skim = Skim::new(&["model"], Some("prompt")).counting(&["prompt", "text"]);
            json.as_bytes().chunks(size).for_each(|part| skim.feed(part));
            skim.elements().map(|elements| (elements.count, elements.first, elements.closed))
        };
        let whole = read(json.len().max(1));
        for size in [1, 2, 5] {
            assert_eq!(read(size), whole, "{json} by {size}");
        }
        whole
    }

    #[test]
    fn an_array_of_any_length_is_counted_and_not_kept() {
        for (json, expected) in [
            (r#"{"prompt":["a","b\"],[","c"],"n":2}"#, (3, Kind::String, true)),
            (r#"{"prompt" : [ [1, 2], [3] ] }"#, (2, Kind::Array, true)),
            (r#"{"text":[1,22,-3.5e7]}"#, (3, Kind::Number, true)),
            (r#"{"prompt":[{"a":[1,2],"b":[]},null,true]}"#, (3, Kind::Object, true)),
            (r#"{"prompt":[]}"#, (0, Kind::Nothing, true)),
            (r#"{"prompt":["a","b"#, (2, Kind::String, false)),
            (r#"{"prompt":["a","#, (1, Kind::String, false)),
            (r#"{"prompt":["#, (0, Kind::Nothing, false)),
            (r#"{"prompt":[1],"text":["a","b"]}"#, (2, Kind::String, true)),
        ] {
            assert_eq!(elements(json), Some(expected), "{json}");
        }
        let long = format!(r#"{{"prompt":[{}"x"],"model":"m"}}"#, "\"x\",".repeat(100_000));
        assert_eq!(elements(&long), Some((100_001, Kind::String, true)));
    }

    #[test]
    fn what_is_no_array_or_stands_deeper_has_no_elements() {
        for json in [
            r#"{"prompt":"a, b"}"#,
            r#"{"prompt":["a","b"],"prompt":"c"}"#,
            r#"{"prompt":{"x":[1,2]}}"#,
            r#"{"a":{"prompt":[1,2]}}"#,
            r#"[{"prompt":[1,2]}]"#,
            r#"{"a":"prompt","b":[1,2]}"#,
            "",
        ] {
            assert_eq!(elements(json), None, "{json}");
        }
    }
}
