//! The data path of Weir: listener, admission, upstream and tap.
//!
//! It relays every byte as it comes and writes one record of each exchange. What becomes of the
//! record it does not know: the crate sees neither telemetry nor analysis.

mod admission;
mod clock;
mod config;
mod drain;
mod error;
mod headers;
mod listener;
mod outlet;
mod proxy;
mod respond;
mod tap;
mod tls;
mod tunnel;
mod upstream;

pub use admission::{Admission, Permit, Rejection};
pub use clock::{monotonic, wall};
pub use config::{
    Config, ContextRules, DEFAULT_DRAIN_TIMEOUT, DEFAULT_LISTEN, FullStatus, HeaderRules, ListenConfig,
    Timeouts, TraceRule, UpstreamConfig, UpstreamHttp, UpstreamUrl, UpstreamUrlError,
};
pub use drain::Drain;
pub use headers::{ApiKey, ApiKeyError, KeyRule};
pub use listener::Server;
pub use outlet::Outlet;
pub use proxy::Wiring;
pub use tls::{ClientTls, ServerTls, TlsError};
