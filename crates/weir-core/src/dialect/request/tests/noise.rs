use proptest::prelude::*;
use proptest::sample::select;

use super::*;

const PATHS: [&str; 8] = [
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/responses",
    "/v1/messages",
    "/api/chat",
    "/generate",
    "/generate_stream",
    "/v1/audio/transcriptions",
];

/// Bodies made of what bodies are made of, in any order.
fn body() -> impl Strategy<Value = Vec<u8>> {
    let word = select(vec![
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "\\",
        "\"model\"",
        "\"prompt\"",
        "\"text\"",
        "\"n\"",
        "\"stream\"",
        "\"sampling_params\"",
        "true",
        "null",
        "12",
        "x",
        "\r\n",
        "\r",
        "\n",
        "--b",
        "--",
        "\r\n--b",
        "\r\n--b--",
        "Content-Disposition: form-data; ",
        "name=\"model\"",
        "name=stream",
        "; filename=a",
        "\r\n\r\n",
        "\u{e9}",
    ]);
    proptest::collection::vec(word, 0..60).prop_map(|words| words.concat().into_bytes())
}

fn parts<'a>(mut bytes: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut parts = Vec::new();
    for cut in cuts {
        let (part, rest) = bytes.split_at(cut.index(bytes.len() + 1));
        parts.push(part);
        bytes = rest;
    }
    parts.push(bytes);
    parts
}

fn check(
    path: &str,
    content_type: &str,
    body: &[u8],
    cuts: &[prop::sample::Index],
) -> Result<(), TestCaseError> {
    let head = head(path, content_type);
    let whole = RequestPeek::scan(&head, std::iter::once(body));
    prop_assert_eq!(&RequestPeek::scan(&head, parts(body, cuts).into_iter()), &whole);
    prop_assert_eq!(&RequestPeek::scan(&head, body.chunks(1)), &whole);
    prop_assert!(whole.model.as_ref().is_none_or(|model| model.len() <= 256));
    prop_assert!(whole.choices >= 1 && whole.all_choices() >= whole.choices);
    Ok(())
}

proptest! {
    #[test]
    fn how_a_body_is_cut_makes_no_difference(
        body in body(),
        path in select(PATHS.to_vec()),
        content_type in select(vec!["application/json", "multipart/form-data; boundary=b", ""]),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        check(path, content_type, &body, &cuts)?;
    }

    #[test]
    fn no_bytes_are_too_strange(
        body in proptest::collection::vec(any::<u8>(), 0..300),
        content_type in ".{0,80}",
        path in ".{0,40}",
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        check(&path, &content_type, &body, &cuts)?;
        check("/v1/audio/translations", "multipart/form-data; boundary=\"\r\n\"", &body, &cuts)?;
    }

    #[test]
    fn a_form_gives_back_what_was_put_in(
        model in "[a-zA-Z0-9/._-]{1,40}",
        audio in proptest::collection::vec(select(vec![b'\r', b'\n', b'-', b'b', 0, 0xff]), 0..200),
        first in any::<bool>(),
        size in 1_usize..40,
    ) {
        let field = format!("--b-b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\n{model}\r\n").into_bytes();
        let mut file = b"--b-b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n".to_vec();
        file.extend_from_slice(&audio);
        file.extend_from_slice(b"\r\n");
        let mut body = if first { [field, file].concat() } else { [file, field].concat() };
        body.extend_from_slice(b"--b-b--\r\n");
        // A file that holds the boundary itself is no form of this boundary.
        prop_assume!(!audio.windows(5).any(|window| window == b"--b-b"));
        let head = head("/v1/audio/transcriptions", "multipart/form-data; boundary=b-b");
        let peek = RequestPeek::scan(&head, body.chunks(size));
        prop_assert_eq!(peek.model.as_deref(), Some(&*model));
        prop_assert!(peek.complete);
    }
}
