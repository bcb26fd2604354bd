//! The parameters behind a header's value: `form-data; name="model"`.

/// The value of a parameter, without its quotes; escapes in it stay. Its name is compared without case.
pub(super) fn parameter<'a>(value: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut rest = behind_semicolon(value)?;
    loop {
        let equals = memchr::memchr2(b'=', b';', rest)?;
        let (key, value) = rest.split_at(equals);
        if value.starts_with(b";") {
            rest = &value[1..];
            continue;
        }
        let found = key.trim_ascii().eq_ignore_ascii_case(name.as_bytes());
        let value = value[1..].trim_ascii_start();
        let (value, behind) = match value.strip_prefix(b"\"") {
            Some(quoted) => {
                let end = crate::json::string_end(quoted, 0)?;
                (&quoted[..end], &quoted[end + 1..])
            }
            None => value.split_at(memchr::memchr(b';', value).unwrap_or(value.len())),
        };
        if found {
            return Some(value.trim_ascii_end());
        }
        rest = behind_semicolon(behind)?;
    }
}

fn behind_semicolon(value: &[u8]) -> Option<&[u8]> {
    memchr::memchr(b';', value).map(|at| &value[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::parameter;

    #[test]
    fn parameters_are_tokens_or_quoted() {
        for (value, name, expected) in [
            ("multipart/form-data; boundary=abc", "boundary", Some("abc")),
            ("multipart/form-data;BOUNDARY=\"a b;c\" ; x=1", "boundary", Some("a b;c")),
            ("form-data; name=\"file\"; filename=\"a\\\"; name=x.wav\"", "name", Some("file")),
            ("form-data; filename=\"name=x\"; name=y ", "name", Some("y")),
            ("form-data; flag; name = z", "name", Some("z")),
            ("form-data; name=", "name", Some("")),
            ("form-data; name=\"open", "name", None),
            ("form-data; filename=x", "name", None),
            ("name=x", "name", None),
            ("", "name", None),
        ] {
            let found = parameter(value.as_bytes(), name);
            assert_eq!(found, expected.map(str::as_bytes), "{value}");
        }
    }
}
