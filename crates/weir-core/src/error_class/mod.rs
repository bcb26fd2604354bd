//! Tells the class of an error from its status and from what its body says.

#[cfg(test)]
mod tests;
mod text;

use crate::outcome::ErrorType;

pub(crate) use text::ErrorText;

/// The class of an error answer.
///
/// The status decides, and what the body says refines it: by code and type first, since prose is
/// nobody's interface. Of codes that are numbers nothing is taken, since they repeat the status.
pub fn classify(status: u16, body: &[u8]) -> ErrorType {
    let said = ErrorText::of_body(body);
    match status {
        402 => ErrorType::Quota,
        400 | 403 | 429 if said.names(QUOTA) || said.tells(QUOTA_PROSE) => ErrorType::Quota,
        429 if said.names(OVERLOAD) => ErrorType::Overloaded,
        // Growing too fast, `slow_down`, is one of these: a later try may do.
        429 => ErrorType::RateLimited,
        401 => ErrorType::Auth,
        400 | 403 | 413 | 422 if said.names(FILTER) || said.tells(FILTER_PROSE) => ErrorType::ContentFilter,
        400 | 413 | 422 if said.names(CONTEXT) || said.tells(CONTEXT_PROSE) => ErrorType::ContextLength,
        400 => ErrorType::BadRequest,
        403 => ErrorType::Auth,
        404 => ErrorType::NotFound,
        422 => ErrorType::Unprocessable,
        // TGI's status for an engine that failed.
        424 if said.names(&["generation"]) => ErrorType::Upstream5xx,
        503 | 529 => ErrorType::Overloaded,
        500.. if said.names(OVERLOAD) => ErrorType::Overloaded,
        500.. => ErrorType::Upstream5xx,
        _ => ErrorType::Http4xx,
    }
}

const QUOTA: &[&str] = &[
    "insufficient_quota",
    "credit_balance_exhausted",
    "organization_spend_limit_exceeded",
    "project_spend_limit_exceeded",
    "organization_usage_limit_exceeded",
    "billing_error",
    "billing_hard_limit_reached",
    "billing_not_active",
    "exceeded_current_quota_error",
];

/// Anthropic's, which comes as an invalid request.
const QUOTA_PROSE: &[&str] = &["credit balance is too low"];

const OVERLOAD: &[&str] = &["overloaded", "overloaded_error", "unavailable_error", "engine_overloaded_error"];

const FILTER: &[&str] =
    &["content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation", "data_inspection_failed"];

const FILTER_PROSE: &[&str] =
    &["content management policy", "content filtering policy", "content exists risk"];

const CONTEXT: &[&str] = &["context_length_exceeded", "exceed_context_size_error", "string_above_max_length"];

/// Most engines say it in prose alone.
const CONTEXT_PROSE: &[&str] = &[
    "context length",
    "context window",
    "context size",
    "context limit",
    "maximum context",
    "maximum prompt length",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "exceeds the maximum number of tokens",
    "`inputs` must have less than",
    "`max_new_tokens` must be <=",
    "too large for model with",
];
