use proptest::prelude::*;
use proptest::sample::select;

use super::{ErrorText, classify};
use crate::outcome::ErrorType::{self, *};

fn check(rows: &[(u16, &str, ErrorType)]) {
    for (status, body, expected) in rows {
        assert_eq!(classify(*status, body.as_bytes()), *expected, "{status} {body}");
    }
}

#[test]
fn a_status_alone_has_a_class() {
    for body in ["", "{}", "<html>", "null", "[]", r#"{"error":null}"#, r#"{"error":{"code":null}}"#] {
        for (status, expected) in [
            (400, BadRequest),
            (401, Auth),
            (402, Quota),
            (403, Auth),
            (404, NotFound),
            (405, Http4xx),
            (408, Http4xx),
            (409, Http4xx),
            (413, Http4xx),
            (421, Http4xx),
            (422, Unprocessable),
            (424, Http4xx),
            (429, RateLimited),
            (499, Http4xx),
            (500, Upstream5xx),
            (501, Upstream5xx),
            (502, Upstream5xx),
            (503, Overloaded),
            (504, Upstream5xx),
            (524, Upstream5xx),
            (529, Overloaded),
        ] {
            assert_eq!(classify(status, body.as_bytes()), expected, "{status} {body}");
        }
    }
}

#[test]
fn openai() {
    check(&[
        (
            400,
            r#"{"error":{"message":"m","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
            ContextLength,
        ),
        (
            400,
            r#"{"error":{"message":"m","type":"invalid_request_error","param":null,"code":null}}"#,
            BadRequest,
        ),
        (400, r#"{"error":{"message":"m","type":null,"code":"content_policy_violation"}}"#, ContentFilter),
        (400, r#"{"error":{"message":"Input exceeds the context window of this model."}}"#, ContextLength),
        (400, r#"{"error":{"code":"string_above_max_length"}}"#, ContextLength),
        (400, r#"{"error":{"type":"invalid_request_error","code":"billing_hard_limit_reached"}}"#, Quota),
        (401, r#"{"error":{"type":"invalid_request_error","code":"invalid_api_key"}}"#, Auth),
        (403, r#"{"error":{"code":"unsupported_country_region_territory"}}"#, Auth),
        (404, r#"{"error":{"type":"invalid_request_error","code":"model_not_found"}}"#, NotFound),
        (409, r#"{"error":{"message":"conflict"}}"#, Http4xx),
        (429, r#"{"error":{"type":"requests","code":"rate_limit_exceeded"}}"#, RateLimited),
        (429, r#"{"error":{"type":"tokens","code":"rate_limit_exceeded"}}"#, RateLimited),
        (500, r#"{"error":{"type":"server_error","code":null}}"#, Upstream5xx),
        (503, r#"{"error":{"type":"service_unavailable_error","code":"slow_down"}}"#, Overloaded),
    ]);
    for code in [
        "insufficient_quota",
        "credit_balance_exhausted",
        "organization_spend_limit_exceeded",
        "project_spend_limit_exceeded",
        "organization_usage_limit_exceeded",
        "billing_not_active",
    ] {
        let body = format!(r#"{{"error":{{"type":"insufficient_quota","code":"{code}"}}}}"#);
        assert_eq!(classify(429, body.as_bytes()), Quota, "{code}");
        let body = format!(r#"{{"error":{{"type":"x","param":null,"code":"{code}"}}}}"#);
        assert_eq!(classify(429, body.as_bytes()), Quota, "{code}");
    }
    check(&[(429, r#"{"error":{"type":"rate_limit_error","code":"slow_down"}}"#, RateLimited)]);
}

#[test]
fn azure() {
    check(&[
        (
            400,
            r#"{"error":{"message":"m","param":"prompt","code":"content_filter","status":400,
                "innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"hate":{"filtered":true}}}}}"#,
            ContentFilter,
        ),
        (
            400,
            r#"{"error":{"code":"400","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#,
            ContentFilter,
        ),
        (400, r#"{"error":{"code":"400","innererror":{"code":"Other"}}}"#, BadRequest),
        (400, r#"{"error":{"message":"It triggered the content management policy."}}"#, ContentFilter),
        (429, r#"{"error":{"code":"429","message":"Requests have exceeded call rate limit"}}"#, RateLimited),
    ]);
}

#[test]
fn engines() {
    check(&[
        // vLLM: the type is a word or the status's phrase, the code a number.
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 8 tokens.","type":"BadRequestError","param":null,"code":400}}"#,
            ContextLength,
        ),
        (400, r#"{"error":{"message":"bad","type":"Bad Request","code":400}}"#, BadRequest),
        (404, r#"{"error":{"message":"none","type":"NotFoundError","code":404}}"#, NotFound),
        (422, r#"{"error":{"type":"UnprocessableEntityError","code":422}}"#, Unprocessable),
        (500, r#"{"error":{"type":"InternalServerError","code":500}}"#, Upstream5xx),
        (501, r#"{"error":{"type":"NotImplementedError","code":501}}"#, Upstream5xx),
        (503, r#"{"error":{"type":"Service Unavailable","code":503}}"#, Overloaded),
        (503, r#"{"error":{"type":"ServiceUnavailableError","code":503}}"#, Overloaded),
        // SGLang: flat.
        (
            400,
            r#"{"object":"error","message":"9 tokens is longer than the model's context length (8)","type":"BadRequestError","code":400}"#,
            ContextLength,
        ),
        (
            400,
            r#"{"object":"error","message":"bad","type":"Bad Request","param":null,"code":400}"#,
            BadRequest,
        ),
        (503, r#"{"object":"error","message":"The request queue is full.","code":503}"#, Overloaded),
        // TGI: the message alone, with a word beside it.
        (429, r#"{"error":"Model is overloaded","error_type":"overloaded"}"#, Overloaded),
        (
            422,
            r#"{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8. Given: 9","error_type":"validation"}"#,
            ContextLength,
        ),
        (
            422,
            r#"{"error":"`inputs` must have less than 8 tokens. Given: 9","error_type":"validation"}"#,
            ContextLength,
        ),
        (
            422,
            r#"{"error":"`temperature` must be strictly positive","error_type":"validation"}"#,
            Unprocessable,
        ),
        (422, r#"{"error":"Template error","error_type":"template_error"}"#, Unprocessable),
        (422, "plain words", Unprocessable),
        (424, r#"{"error":"Request failed during generation","error_type":"generation"}"#, Upstream5xx),
        (500, r#"{"error":"Incomplete generation","error_type":"incomplete_generation"}"#, Upstream5xx),
        (503, r#"{"error":"unhealthy","error_type":"healthcheck"}"#, Overloaded),
        // llama.cpp.
        (
            400,
            r#"{"error":{"code":400,"message":"request (9 tokens) exceeds","type":"exceed_context_size_error","n_prompt_tokens":9,"n_ctx":8}}"#,
            ContextLength,
        ),
        (400, r#"{"error":{"code":400,"message":"bad","type":"invalid_request_error"}}"#, BadRequest),
        (401, r#"{"error":{"code":401,"type":"authentication_error"}}"#, Auth),
        (403, r#"{"error":{"code":403,"type":"permission_error"}}"#, Auth),
        (404, r#"{"error":{"code":404,"type":"not_found_error"}}"#, NotFound),
        (500, r#"{"error":{"code":500,"type":"server_error"}}"#, Upstream5xx),
        (501, r#"{"error":{"code":501,"type":"not_supported_error"}}"#, Upstream5xx),
        (503, r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#, Overloaded),
        // Ollama: the message alone.
        (404, r#"{"error":"model 'x' not found"}"#, NotFound),
        (400, r#"{"error":"the input length exceeds the context length"}"#, ContextLength),
        (503, r#"{"error":"server busy, please try again"}"#, Overloaded),
        (500, r#"{"error":"llama runner has terminated"}"#, Upstream5xx),
        // FastAPI, under any of them.
        (404, r#"{"detail":"Not Found"}"#, NotFound),
        (422, r#"{"detail":[{"type":"missing","loc":["body"],"msg":"Field required"}]}"#, Unprocessable),
    ]);
}

#[test]
fn providers() {
    check(&[
        // Anthropic.
        (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"bad"}}"#, BadRequest),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#,
            ContextLength,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#,
            Quota,
        ),
        (401, r#"{"type":"error","error":{"type":"authentication_error"}}"#, Auth),
        (402, r#"{"type":"error","error":{"type":"billing_error"}}"#, Quota),
        (403, r#"{"type":"error","error":{"type":"permission_error"}}"#, Auth),
        (404, r#"{"type":"error","error":{"type":"not_found_error"}}"#, NotFound),
        (409, r#"{"type":"error","error":{"type":"conflict_error"}}"#, Http4xx),
        (413, r#"{"type":"error","error":{"type":"request_too_large"}}"#, Http4xx),
        (429, r#"{"type":"error","error":{"type":"rate_limit_error"}}"#, RateLimited),
        (500, r#"{"type":"error","error":{"type":"api_error"}}"#, Upstream5xx),
        (500, r#"{"type":"error","error":{"type":"overloaded_error"}}"#, Overloaded),
        (504, r#"{"type":"error","error":{"type":"timeout_error"}}"#, Upstream5xx),
        (529, r#"{"type":"error","error":{"type":"overloaded_error"},"request_id":"r"}"#, Overloaded),
        // OpenRouter: the code is the status.
        (400, r#"{"error":{"code":400,"message":"bad"}}"#, BadRequest),
        (402, r#"{"error":{"code":402,"message":"Insufficient credits"}}"#, Quota),
        (408, r#"{"error":{"code":408,"message":"timed out"}}"#, Http4xx),
        (429, r#"{"error":{"code":429,"message":"limited","metadata":{"raw":"quota"}}}"#, RateLimited),
        (502, r#"{"error":{"code":502,"message":"down","metadata":{"provider_name":"p"}}}"#, Upstream5xx),
        (503, r#"{"error":{"code":503,"message":"no provider"}}"#, Overloaded),
        // DeepSeek.
        (
            402,
            r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}"#,
            Quota,
        ),
        (400, r#"{"error":{"message":"Content Exists Risk","type":"invalid_request_error"}}"#, ContentFilter),
        (503, r#"{"error":{"message":"Server overloaded"}}"#, Overloaded),
        // Gemini: an array. That its quota is used up means for now.
        (400, r#"[{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}]"#, BadRequest),
        (
            400,
            r#"[{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (8)."}}]"#,
            ContextLength,
        ),
        (
            429,
            r#"[{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED"}}]"#,
            RateLimited,
        ),
        (503, r#"[{"error":{"code":503,"status":"UNAVAILABLE"}}]"#, Overloaded),
        // Others.
        (400, r#"{"code":"invalid-argument","error":"Model not found: y"}"#, BadRequest),
        (
            400,
            r#"{"object":"error","message":"Invalid model","type":"invalid_model","code":"1500"}"#,
            BadRequest,
        ),
        (
            400,
            r#"{"message":"too large for model with 8 maximum context length","code":"3051"}"#,
            ContextLength,
        ),
        (400, r#"{"error":{"code":"data_inspection_failed"}}"#, ContentFilter),
        (401, r#"{"detail":"Invalid API Key"}"#, Auth),
        (421, r#"{"message":"hello"}"#, Http4xx),
        (429, r#"{"error":{"type":"engine_overloaded_error"}}"#, Overloaded),
        (429, r#"{"error":{"type":"exceeded_current_quota_error"}}"#, Quota),
    ]);
}

#[test]
fn what_is_cut_off_or_stands_elsewhere_says_nothing() {
    check(&[
        (400, r#"{"error":{"message":"context length"#, BadRequest),
        (400, r#"{"error":{"code":"content_filter","message":"cut"#, ContentFilter),
        (400, r#"{"error":{"message":"bad","param":"context_length_exceeded"}}"#, BadRequest),
        (429, r#"{"x":{"error":{"code":"insufficient_quota"}}}"#, RateLimited),
        (429, r#"{"error":{"code":["insufficient_quota"]}}"#, RateLimited),
        (429, r#"{"error":{"code":"x","code":"y","type":"insufficient_quota"}}"#, Quota),
    ]);
    let long = format!(r#"{{"error":{{"message":"{} context length"}}}}"#, "x".repeat(600));
    assert_eq!(classify(400, long.as_bytes()), BadRequest);
}

/// Bodies made of what error bodies are made of, in any order.
fn body() -> impl Strategy<Value = String> {
    let word = select(vec![
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "\\",
        "\"error\"",
        "\"detail\"",
        "\"code\"",
        "\"type\"",
        "\"message\"",
        "\"innererror\"",
        "\"insufficient_quota\"",
        "\"overloaded\"",
        "\"context length\"",
        "400",
        "null",
        " ",
    ]);
    proptest::collection::vec(word, 0..40).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn any_body_of_any_status_has_a_class_that_fits_the_status(body in body(), status in 400_u16..600) {
        let class = classify(status, body.as_bytes());
        let possible: &[ErrorType] = match status {
            400 => &[BadRequest, ContextLength, ContentFilter, Quota],
            401 => &[Auth],
            402 => &[Quota],
            403 => &[Auth, ContentFilter, Quota],
            404 => &[NotFound],
            413 => &[Http4xx, ContextLength, ContentFilter],
            422 => &[Unprocessable, ContextLength, ContentFilter],
            424 => &[Http4xx, Upstream5xx],
            429 => &[RateLimited, Quota, Overloaded],
            503 | 529 => &[Overloaded],
            500.. => &[Upstream5xx, Overloaded],
            _ => &[Http4xx],
        };
        prop_assert!(possible.contains(&class), "{} {} {}", status, body, class);
    }

    #[test]
    fn no_bytes_are_too_strange(body in proptest::collection::vec(any::<u8>(), 0..300), status in any::<u16>()) {
        classify(status, &body);
        let said = ErrorText::of_body(&body);
        for raw in [said.code, said.kind, said.message, said.inner_code].into_iter().flatten() {
            prop_assert!(raw.len() <= body.len());
        }
    }

    #[test]
    fn the_shape_makes_no_difference(
        status in select(vec![400_u16, 403, 413, 422, 424, 429, 500]),
        code in select(vec!["insufficient_quota", "overloaded", "content_filter", "context_length_exceeded", "generation", "x"]),
    ) {
        let object = format!(r#"{{"code":"{code}","message":"m"}}"#);
        let flat = classify(status, object.as_bytes());
        for body in [
            format!(r#"{{"error":{object}}}"#),
            format!(r#"{{"type":"error","error":{object}}}"#),
            format!(r#"[{{"error":{object}}}]"#),
            format!(r#"{{"detail":{object}}}"#),
            format!(r#"{{"error":"m","error_type":"{code}"}}"#),
            format!(r#"  {{ "error" : {{ "type" : "{code}" }} }} "#),
        ] {
            prop_assert_eq!(classify(status, body.as_bytes()), flat, "{}", body);
        }
    }
}
