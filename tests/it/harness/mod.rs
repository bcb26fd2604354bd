//! A proxy between a client and an upstream that both speak HTTP/1.1 by hand.

pub(crate) mod body;
pub(crate) mod http2;
pub(crate) mod message;
pub(crate) mod play;
pub(crate) mod relay;
pub(crate) mod rig;
pub(crate) mod sse;
pub(crate) mod upstream;
pub(crate) mod wire;

pub(crate) use message::{chunk, request, response};
pub(crate) use play::{Ending, Play, Played};
pub(crate) use rig::Rig;
pub(crate) use upstream::Upstream;
pub(crate) use wire::{Close, Wire};

use std::future::Future;
use std::sync::LazyLock;
use std::time::Duration;

/// The last chunk of a chunked body without trailers.
pub(crate) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// A test that waits this long waits for ever.
const GUARD: Duration = Duration::from_secs(30);

/// What has to be seen soon is seen within this, on a slow and busy machine too.
pub(crate) const SOON: Duration = Duration::from_secs(2);

/// Fails the test, rather than hang, if `future` never ends.
pub(crate) async fn guarded<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(GUARD, future).await.expect("the test waits in vain")
}

/// Waits until `is` holds, for what nobody announces.
pub(crate) async fn until(is: impl Fn() -> bool) {
    guarded(async {
        while !is() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

/// Nanoseconds of the monotonic clock, by which records give their times.
pub(crate) fn now() -> u64 {
    weir_proxy::monotonic().0
}

/// `bytes` in parts of `size`.
pub(crate) fn split(bytes: &[u8], size: usize) -> Vec<Vec<u8>> {
    bytes.chunks(size.min(bytes.len().max(1))).map(<[u8]>::to_vec).collect()
}

/// The sizes in which bodies are written: whole, by single bytes, and by primes.
pub(crate) const SPLITS: [usize; 4] = [usize::MAX, 1, 7, 97];

/// Bytes of every value in no simple order, from `at` on in an endless row of them.
pub(crate) fn pattern(at: usize, length: usize) -> Vec<u8> {
    static TILE: LazyLock<Vec<u8>> =
        LazyLock::new(|| (0..251 * 256).map(|index| (index % 251) as u8 ^ (index / 251) as u8).collect());
    let mut bytes = Vec::with_capacity(length);
    while bytes.len() < length {
        let from = (at + bytes.len()) % TILE.len();
        let part = (TILE.len() - from).min(length - bytes.len());
        bytes.extend_from_slice(&TILE[from..from + part]);
    }
    bytes
}
