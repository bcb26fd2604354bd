//! How an exchange is told in the words of OpenTelemetry's semantic conventions. Metrics and spans say
//! the same, for both ask here.

use weir_core::dialect::Dialect;
use weir_core::exchange::Exchange;
use weir_core::outcome::{ErrorType, Outcome};
use weir_core::timeline::Mark;

/// The value of whatever the conventions have no better one for.
const OTHER: &str = "_OTHER";

/// The two sides that Weir has in an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Towards the client.
    Server,
    /// Towards the upstream; the GenAI operation is seen from here.
    Client,
}

/// `gen_ai.operation.name`. Absent for what is no GenAI operation.
pub(crate) fn operation(dialect: Dialect) -> Option<&'static str> {
    match dialect {
        Dialect::Chat | Dialect::Responses | Dialect::Messages | Dialect::OllamaChat => Some("chat"),
        Dialect::Completions | Dialect::OllamaGenerate | Dialect::TgiGenerate => Some("text_completion"),
        Dialect::Embeddings => Some("embeddings"),
        // Sound comes in and text goes out.
        Dialect::Transcription => Some("generate_content"),
        Dialect::Rerank | Dialect::Other => None,
    }
}

/// `gen_ai.provider.name` as the dialect tells it, for an upstream of which nothing else is said.
pub(crate) fn provider(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Messages => "anthropic",
        Dialect::OllamaChat | Dialect::OllamaGenerate => "ollama",
        Dialect::TgiGenerate => "tgi",
        _ => "openai",
    }
}

/// `error.type`: the class of what went wrong. Absent where nothing did, and where
///
/// - the client went away: for whoever serves that is no error, and a caller may cancel;
/// - the answer was complete, and what was noticed of it is a remark;
/// - a server answered 4xx: that is the client's error, and Weir's only as a client.
pub(crate) fn error_type(exchange: &Exchange, side: Side) -> Option<&'static str> {
    let failed = match exchange.outcome {
        Outcome::Completed | Outcome::ClientGoneBeforeFirstToken | Outcome::ClientGoneMidStream => false,
        // That one end closes a tunnel is how tunnels end.
        Outcome::Upgraded => exchange.error_type.is_some(),
        Outcome::Truncated
        | Outcome::StreamError
        | Outcome::UpstreamError
        | Outcome::UpstreamUnreachable
        | Outcome::Timeout
        | Outcome::QueueFull
        | Outcome::Refused => match side {
            Side::Server => !exchange.status.is_some_and(|status| (400..500).contains(&status)),
            Side::Client => true,
        },
    };
    failed.then(|| exchange.error_type.map_or(OTHER, ErrorType::as_str))
}

/// `http.response.status_code` as that side saw it: what the upstream said is known only where its
/// answer came.
pub(crate) fn status(exchange: &Exchange, side: Side) -> Option<u16> {
    let answered = side == Side::Server || exchange.timeline.at(Mark::ResponseHead).is_some();
    exchange.status.filter(|_| answered)
}

/// `http.request.method`.
pub(crate) fn method(method: &str) -> &'static str {
    const METHODS: [&str; 9] =
        ["POST", "GET", "HEAD", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];
    METHODS.into_iter().find(|known| *known == method).unwrap_or(OTHER)
}

/// `http.route`: the path of the API that was asked for, without what a base path puts before it. Absent
/// for what is no known API, since a path would be of the client's making.
pub(crate) fn route(dialect: Dialect, path: &str) -> Option<&'static str> {
    let path = path.strip_suffix('/').unwrap_or(path);
    routes(dialect).iter().find(|route| path.ends_with(*route)).copied()
}

/// The paths of an API, the longer before those that they end in.
const fn routes(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Chat => &["/v1/chat/completions", "/chat/completions"],
        Dialect::Completions => &["/v1/completions", "/completions"],
        Dialect::Embeddings => &["/v1/embeddings", "/embeddings", "/api/embed"],
        Dialect::Responses => &["/v1/responses", "/responses"],
        Dialect::Messages => &["/v1/messages"],
        Dialect::OllamaChat => &["/api/chat"],
        Dialect::OllamaGenerate => &["/api/generate"],
        Dialect::TgiGenerate => &["/generate", "/generate_stream"],
        Dialect::Transcription => &[
            "/v1/audio/transcriptions",
            "/v1/audio/translations",
            "/audio/transcriptions",
            "/audio/translations",
        ],
        Dialect::Rerank => &["/v1/rerank", "/v2/rerank", "/rerank", "/reranking"],
        Dialect::Other => &[],
    }
}

#[cfg(test)]
mod tests {
    use weir_core::dialect::Dialect;
    use weir_core::outcome::{ErrorType, Outcome};
    use weir_core::timeline::Mark;

    use super::{Side, error_type, method, operation, route, status};
    use crate::fixture::exchange;

    #[test]
    fn an_error_is_told_to_whom_it_concerns() {
        for (outcome, given, class, server, client) in [
            (Outcome::Completed, Some(200), None, None, None),
            (Outcome::Completed, Some(200), Some(ErrorType::MissingDone), None, None),
            (Outcome::UpstreamError, Some(404), Some(ErrorType::NotFound), None, Some("not_found")),
            (
                Outcome::UpstreamError,
                Some(500),
                Some(ErrorType::Upstream5xx),
                Some("upstream_5xx"),
                Some("upstream_5xx"),
            ),
            (
                Outcome::StreamError,
                Some(200),
                Some(ErrorType::StreamError),
                Some("stream_error"),
                Some("stream_error"),
            ),
            (Outcome::Truncated, Some(200), None, Some("_OTHER"), Some("_OTHER")),
            (Outcome::QueueFull, Some(429), Some(ErrorType::ProxyQueueFull), None, Some("proxy_queue_full")),
            (Outcome::ClientGoneMidStream, Some(200), Some(ErrorType::ClientDisconnectMidStream), None, None),
            (Outcome::ClientGoneBeforeFirstToken, None, None, None, None),
            (Outcome::Upgraded, Some(101), None, None, None),
        ] {
            let exchange = exchange(Dialect::Chat, given, outcome, class, &[(Mark::Ended, 3)]);
            assert_eq!(error_type(&exchange, Side::Server), server, "{outcome} {given:?}");
            assert_eq!(error_type(&exchange, Side::Client), client, "{outcome} {given:?}");
        }
    }

    #[test]
    fn a_status_that_weir_made_up_is_not_the_upstreams() {
        let marks = [(Mark::Dispatched, 1), (Mark::Ended, 9)];
        let timed_out = exchange(Dialect::Chat, Some(504), Outcome::Timeout, None, &marks);
        assert_eq!(status(&timed_out, Side::Server), Some(504));
        assert_eq!(status(&timed_out, Side::Client), None);
    }

    #[test]
    fn nothing_of_the_clients_making_is_an_attribute() {
        assert_eq!(method("POST"), "POST");
        assert_eq!(method("post"), "_OTHER");
        assert_eq!(method("BREW"), "_OTHER");
        for (path, known) in [
            ("/v1/chat/completions", Some("/v1/chat/completions")),
            ("/base/v1/chat/completions/", Some("/v1/chat/completions")),
            ("/openai/deployments/secret/chat/completions", Some("/chat/completions")),
            ("/cut/at/a/bound", None),
        ] {
            assert_eq!(route(Dialect::Chat, path), known, "{path}");
        }
        assert_eq!(route(Dialect::Other, "/v1/files"), None);
    }

    #[test]
    fn what_generates_is_an_operation_and_has_a_route() {
        for path in [
            "/v1/chat/completions",
            "/v1/completions",
            "/v1/embeddings",
            "/api/embed",
            "/v1/responses",
            "/v1/messages",
            "/api/chat",
            "/api/generate",
            "/generate",
            "/generate_stream",
            "/v1/audio/transcriptions",
            "/v1/audio/translations",
            "/v2/rerank",
            "/reranking",
        ] {
            let dialect = Dialect::of("POST", path);
            assert_eq!(route(dialect, path), Some(path));
            assert!(!dialect.is_generation() || operation(dialect).is_some(), "{path}");
        }
        assert_eq!(operation(Dialect::Rerank), None);
        assert_eq!(operation(Dialect::Other), None);
    }
}
