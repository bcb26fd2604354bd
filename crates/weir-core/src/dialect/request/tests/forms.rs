use super::*;

const PATH: &str = "/v1/audio/transcriptions";

/// A form with these parts, each a head and a content.
fn form(boundary: &str, parts: &[(&str, &str)]) -> String {
    let mut body = String::new();
    for (head, content) in parts {
        body += &format!("--{boundary}\r\nContent-Disposition: form-data; {head}\r\n\r\n{content}\r\n");
    }
    body + &format!("--{boundary}--\r\n")
}

fn read(body: &str) -> RequestPeek {
    scan(&head(PATH, "multipart/form-data; boundary=----b1"), body.as_bytes())
}

#[test]
fn fields_are_found_in_any_order_and_files_pass_by() {
    let file = r#"name="file"; filename="a; name=\"model\".wav""#;
    let audio = "RIFF\r\n--\r\n------b\r\n\r\r\n------b0\r\nname=\"model\"\r\n\r\nnot-it";
    let expected = RequestPeek {
        model: Some("whisper-1".into()),
        stream: true,
        complete: true,
        ..RequestPeek::default()
    };
    let model = (r#"name="model""#, "whisper-1");
    let stream = ("name=stream", "true");
    for parts in
        [[(file, audio), model, stream], [stream, model, (file, audio)], [model, (file, audio), stream]]
    {
        assert_eq!(read(&form("----b1", &parts)), expected, "{parts:?}");
    }
}

#[test]
fn boundaries_and_heads_in_every_dress() {
    let parts = [(r#"name="model""#, "m"), (r#"name="stream""#, "True")];
    for (content_type, boundary) in [
        ("multipart/form-data; boundary=x", "x"),
        ("Multipart/Form-Data;charset=utf-8;Boundary=\"a b:c\"", "a b:c"),
        ("multipart/form-data; boundary=----WebKitFormBoundaryA1", "----WebKitFormBoundaryA1"),
    ] {
        let peeked = scan(&head(PATH, content_type), form(boundary, &parts).as_bytes());
        assert_eq!((peeked.model.as_deref(), peeked.stream), (Some("m"), true), "{content_type}");
    }
    let body = "a preamble\r\n------b1 \t\r\nContent-Type: text/plain\r\ncontent-disposition:form-data;name=model\r\n\
        X: y\r\n\r\nm\r\n------b1\r\n\r\nno head\r\n------b1--\r\nan epilogue";
    let peeked = read(body);
    assert_eq!((peeked.model.as_deref(), peeked.complete), (Some("m"), true));
}

#[test]
fn what_is_cut_off_too_long_or_no_field_is_absent() {
    let model = (r#"name="model""#, "m");
    let whole = form("----b1", &[model, (r#"name="prompt""#, "p")]);
    for cut in 0..whole.len() - 3 {
        let peeked = read(&whole[..cut]);
        assert!(!peeked.complete, "{cut}");
        let is_over = cut >= whole.find("m\r\n------b1\r\n").unwrap() + "m\r\n------b1\r\n".len();
        assert_eq!(peeked.model.is_some(), is_over, "{cut}");
    }
    let long = "x".repeat(2000);
    for (name, content) in [
        (r#"name="model"; filename="model""#, "m"),
        (r#"name="model"; filename*=UTF-8''m"#, "m"),
        (r#"name="Model""#, "m"),
        (r#"filename="model""#, "m"),
        (r#"name="model""#, &long[..257]),
        (r#"name="model""#, &long[..]),
        (r#"name="model""#, ""),
        (&format!("name=\"model\"; x=\"{long}\""), "m"),
        // Whose end is a longer line: nothing was said that could be relied on.
        (r#"name="model""#, "m\r\n------b12"),
    ] {
        let peeked = read(&form("----b1", &[(name, content)]));
        assert_eq!((peeked.model, peeked.complete), (None, true), "{name}");
    }
    assert_eq!(read(&form("----b1", &[model, (r#"name="model""#, "n")])).model.as_deref(), Some("n"));
    let not_utf8 = [form("----b1", &[]).as_bytes(), b"\xff"].concat();
    assert_eq!(scan(&head(PATH, "multipart/form-data; boundary=----b1"), &not_utf8).model, None);
}

#[test]
fn a_form_without_a_usable_boundary_says_nothing() {
    let long = format!("multipart/form-data; boundary={}", "b".repeat(71));
    for content_type in ["multipart/form-data", "multipart/form-data; boundary=", &long] {
        let peeked = scan(&head(PATH, content_type), form("b", &[("name=model", "m")]).as_bytes());
        assert_eq!(peeked, RequestPeek::default(), "{content_type}");
    }
}

#[test]
fn words_for_yes() {
    for (word, stream) in [
        ("true", true),
        ("True", true),
        ("1", true),
        (" on ", true),
        ("false", false),
        ("0", false),
        ("", false),
    ] {
        assert_eq!(read(&form("----b1", &[("name=stream", word)])).stream, stream, "{word}");
    }
}
