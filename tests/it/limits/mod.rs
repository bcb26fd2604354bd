//! Who may go to the upstream, who waits, and for how long.

mod lanes;
mod queue;
mod timeouts;

use crate::harness::{Rig, Upstream, Wire, response};

/// A client whose request is at the upstream, and the upstream's end of that.
async fn busy(rig: &Rig, upstream: &Upstream, body: &str) -> (Wire, Wire) {
    let mut client = rig.client().await;
    client.ask(body).await;
    let (engine, asked) = upstream.asked().await;
    assert_eq!(asked.body, body.as_bytes());
    (client, engine)
}

/// The upstream answers, and its client gets that.
async fn answered(client: &mut Wire, engine: &mut Wire) {
    engine.send(response("200 OK", "", "{}")).await;
    assert_eq!(client.response().await.status(), 200);
}
