//! Requests whose framing can be read in two ways are refused, and their connection is closed: what
//! hides behind them never reaches the upstream.

mod bodies;
mod conflicting_lengths;
mod heads;

use crate::harness::message::Message;
use crate::harness::{Close, Rig};

/// A request that a framing error would bring to light.
const HIDDEN: &str = "GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n";

/// Sends bytes that must be answered with this status and the end of the connection, while nothing
/// reaches the upstream.
async fn refused(bytes: impl AsRef<[u8]>, status: u16) -> Message {
    let shown = String::from_utf8_lossy(&bytes.as_ref()[..bytes.as_ref().len().min(200)]).into_owned();
    let (rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    // The proxy may close before it has read all of this.
    let _ = client.try_send(bytes).await;
    let answer = client.response().await;
    assert_eq!(answer.status(), status, "{shown}");
    assert!(matches!(client.closed().await, Close::Fin | Close::Reset), "{shown}");
    assert!(upstream.is_untouched().await, "{shown}");
    answer
}
