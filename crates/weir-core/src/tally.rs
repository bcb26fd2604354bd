//! What the data path counts about itself, beside exchanges: written there, read by the pipeline.

use std::sync::atomic::AtomicU64;

/// Counters of one process. All but `connections_open` only grow.
#[derive(Debug, Default)]
pub struct Tally {
    /// Client connections accepted.
    pub connections_accepted: AtomicU64,
    /// Client connections open now.
    pub connections_open: AtomicU64,
    /// Accepting failed (out of file descriptors, say).
    pub accept_errors: AtomicU64,
    /// Connections that ended with bytes that are not HTTP, or with a head beyond its bounds.
    pub malformed_requests: AtomicU64,
    /// TLS handshakes with clients that failed.
    pub tls_handshake_errors: AtomicU64,
    /// Times that the certificate was exchanged for a new one.
    pub tls_reloads: AtomicU64,
    /// Changes of its files that could not be used.
    pub tls_reload_errors: AtomicU64,
    /// Upstream connections opened.
    pub upstream_connects: AtomicU64,
    /// Upstream connections that could not be opened.
    pub upstream_connect_errors: AtomicU64,
    /// Requests sent again: their kept connection had died unused, or the server said that it had not begun with them.
    pub upstream_retries: AtomicU64,
    /// Answers drained after their client had left content, so that the connection could be kept.
    pub upstream_drained: AtomicU64,
    /// Exchanges that found the pipeline's queue full and were not recorded.
    pub exchanges_dropped: AtomicU64,
}
