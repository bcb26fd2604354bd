//! Error statuses, in the shape of each vendor: what is told of them beside their class.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;

fn refused(status: u16, body: &str) -> Reader {
    let (reader, seen) =
        read_as(Dialect::Chat, &RequestPeek::default(), &head(status, "application/json"), body);
    assert!(seen.is_empty() && !reader.is_stream());
    reader
}

#[test]
fn code_and_type_are_told_from_every_shape() {
    for (status, body, class, told) in [
        (
            429,
            r#"{"error":{"message":"m","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#,
            ErrorType::RateLimited,
            (Some("rate_limit_exceeded"), Some("tokens")),
        ),
        (
            503,
            r#"{"error":{"message":"m","type":"Service Unavailable","param":null,"code":503}}"#,
            ErrorType::Overloaded,
            (Some("503"), Some("Service Unavailable")),
        ),
        (
            400,
            r#"{"object":"error","message":"m","type":"BadRequestError","param":null,"code":400}"#,
            ErrorType::BadRequest,
            (Some("400"), Some("BadRequestError")),
        ),
        (
            429,
            r#"{"error":"Model is overloaded","error_type":"overloaded"}"#,
            ErrorType::Overloaded,
            (None, Some("overloaded")),
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"m","type":"exceed_context_size_error","n_prompt_tokens":9,"n_ctx":8}}"#,
            ErrorType::ContextLength,
            (Some("400"), Some("exceed_context_size_error")),
        ),
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"}"#,
            ErrorType::Overloaded,
            (None, Some("overloaded_error")),
        ),
        (404, r#"{"error":"model 'x' not found"}"#, ErrorType::NotFound, (None, None)),
        (
            502,
            r#"{"error":{"code":502,"message":"m","metadata":{"provider_name":"p"}},"user_id":"u"}"#,
            ErrorType::Upstream5xx,
            (Some("502"), None),
        ),
        (
            400,
            r#"{"error":{"message":"m","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#,
            ErrorType::ContentFilter,
            (Some("content_filter"), Some("400")),
        ),
        (
            429,
            r#"[{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}]"#,
            ErrorType::RateLimited,
            (Some("429"), Some("RESOURCE_EXHAUSTED")),
        ),
        (402, r#"{"error":{"message":"Insufficient Balance"}}"#, ErrorType::Quota, (None, None)),
    ] {
        let reader = refused(status, body);
        let error = reader.facts().error.as_ref().unwrap();
        assert_eq!((error.error_type, said(&reader)), (class, told), "{status} {body}");
    }
}

#[test]
fn labels_are_cut_and_long_bodies_are_not_kept() {
    let long = "\u{e9}".repeat(20_000);
    let reader = refused(500, &format!(r#"{{"error":{{"code":"{long}","type":"t"}}}}"#));
    assert_eq!(said(&reader), (None, None), "the code did not end in what is kept");
    let short = "\u{e9}".repeat(100);
    let reader = refused(500, &format!(r#"{{"error":{{"code":"{short}","type":"t","message":"{long}"}}}}"#));
    assert_eq!(said(&reader), (Some(&*"\u{e9}".repeat(32)), Some("t")));
}

proptest! {
    #[test]
    fn how_an_error_is_cut_makes_no_difference_and_its_labels_are_bounded(
        status in select(vec![400_u16, 403, 404, 422, 424, 429, 500, 503]),
        key in select(vec!["code", "type", "error_type", "message", "innererror", "x"]),
        value in prop_oneof![
            "[ -~\u{e9}]{0,200}".prop_map(|text| serde_json::to_string(&text).unwrap()),
            any::<i64>().prop_map(|number| number.to_string()),
            Just("null".to_owned()),
            Just(r#"{"code":"content_filter"}"#.to_owned()),
        ],
        shape in select(vec!["{E}", "{\"error\":{E}}", "[{\"error\":{E}}]", "{\"detail\":{E}}", "\n\n{\"error\":{E}"]),
        size in 1_usize..60,
    ) {
        let body = shape.replace("{E}", &format!(r#"{{"{key}":{value}}}"#));
        let read = |parts: std::slice::Chunks<'_, u8>| {
            let mut reader =
                Reader::new(Dialect::Chat, &RequestPeek::default(), &head(status, "application/json"));
            parts.for_each(|part| reader.feed(part, &mut |_| {}));
            reader.finish(&mut |_| {});
            reader.facts().error.clone().unwrap()
        };
        let whole = read(body.as_bytes().chunks(body.len()));
        prop_assert_eq!(&read(body.as_bytes().chunks(size)), &whole);
        for label in [&whole.code, &whole.kind].into_iter().flatten() {
            prop_assert!(label.len() <= 64);
        }
    }
}
