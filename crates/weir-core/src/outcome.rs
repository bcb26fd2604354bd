//! How an exchange ended: the closed set of outcomes, and the error classes that refine them.

use serde::{Deserialize, Serialize};

/// Declares a closed set of names once: the enum, its text form and the list of all members.
macro_rules! closed_set {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $text)] $variant,)* }

        impl $name {
            /// Every member, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name as it stands in records, labels and logs.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

closed_set! {
    /// How an exchange ended. Every exchange has exactly one.
    Outcome {
        /// The whole answer was relayed.
        Completed = "completed",
        /// The upstream's answer broke off: no terminal event and no finish reason.
        Truncated = "truncated",
        /// An error was reported inside an answer of status 200.
        StreamError = "stream_error",
        /// The client left before a first token: while queued, in prefill, or before the answer.
        ClientGoneBeforeFirstToken = "client_gone_before_first_token",
        /// The client left between the first token and the end.
        ClientGoneMidStream = "client_gone_mid_stream",
        /// The upstream answered with an error status, which was passed on.
        UpstreamError = "upstream_error",
        /// No answer could be had: connecting failed, or the upstream closed before its head.
        UpstreamUnreachable = "upstream_unreachable",
        /// One of the timeouts ran out: in the queue, before the response head, or between bytes.
        Timeout = "timeout",
        /// The bounded queue was full.
        QueueFull = "queue_full",
        /// Weir itself refused the request (its own 4xx, or 503 while draining).
        Refused = "refused",
        /// The connection became a tunnel.
        Upgraded = "upgraded",
    }
}

closed_set! {
    /// What went wrong, more closely: a low-cardinality class that refines an [`Outcome`].
    ErrorType {
        /// 400 for any other reason.
        BadRequest = "bad_request",
        /// 400 because the prompt does not fit the model's context.
        ContextLength = "context_length",
        /// The provider's content filter refused the prompt.
        ContentFilter = "content_filter",
        /// 401 or 403.
        Auth = "auth",
        /// 404.
        NotFound = "not_found",
        /// 422.
        Unprocessable = "unprocessable",
        /// Any other 4xx.
        Http4xx = "http_4xx",
        /// 429 that may be retried.
        RateLimited = "rate_limited",
        /// 402, or 429 because the quota is used up.
        Quota = "quota",
        /// 503, 529, or an engine that says that it is overloaded.
        Overloaded = "overloaded",
        /// Any other 5xx, or a 4xx by which an engine says that it failed.
        Upstream5xx = "upstream_5xx",
        /// The upstream could not be connected to.
        UpstreamConnect = "upstream_connect",
        /// No response head within `response_head`.
        UpstreamTimeoutHeaders = "upstream_timeout_headers",
        /// No byte within `idle`.
        UpstreamTimeoutIdle = "upstream_timeout_idle",
        /// The upstream's connection broke, or it sent what is not HTTP.
        UpstreamReset = "upstream_reset",
        /// An error event inside an answer of status 200.
        StreamError = "stream_error",
        /// A clean end of the body with neither a finish reason nor a terminal event.
        StreamTruncated = "stream_truncated",
        /// A complete stream that carried no token.
        EmptyStream = "empty_stream",
        /// A finish reason came, the terminal marker did not.
        MissingDone = "missing_done",
        /// The terminal marker came, a finish reason did not.
        MissingFinish = "missing_finish",
        /// The client left before the first token.
        ClientDisconnectBeforeFirstToken = "client_disconnect_before_first_token",
        /// The client left in mid-stream.
        ClientDisconnectMidStream = "client_disconnect_mid_stream",
        /// The client's request body broke off, or broke HTTP's framing.
        ClientRequest = "client_request",
        /// Weir's queue was full.
        ProxyQueueFull = "proxy_queue_full",
        /// Weir's queue timeout ran out.
        ProxyQueueTimeout = "proxy_queue_timeout",
        /// Weir was shutting down.
        ProxyShutdown = "proxy_shutdown",
    }
}

#[cfg(test)]
mod tests {
    use super::{ErrorType, Outcome};

    #[test]
    fn names_are_unique_and_survive_a_round_trip() {
        let mut seen = std::collections::BTreeSet::new();
        for outcome in Outcome::ALL {
            assert!(seen.insert(outcome.as_str()), "{outcome} stands twice");
            let text = serde_json::to_string(outcome).unwrap();
            assert_eq!(text, format!("\"{outcome}\""));
            assert_eq!(serde_json::from_str::<Outcome>(&text).unwrap(), *outcome);
        }
        let classes: std::collections::BTreeSet<_> = ErrorType::ALL.iter().map(|e| e.as_str()).collect();
        assert_eq!(classes.len(), ErrorType::ALL.len());
    }
}
