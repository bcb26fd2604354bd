//! The engine's side: streams of events at a pace.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::task::spawn_local;
use tokio::time::{MissedTickBehavior, interval};

use crate::part::Part;
use crate::{EVENTS, PACE, any_port};

const EVENT: &[u8] =
    b"data: {\"id\":\"chatcmpl-7f3a\",\"object\":\"chat.completion.chunk\",\"created\":1760000000,\
    \"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"},\"logprobs\":null,\
    \"finish_reason\":null}]}\n\n";
const LAST: &[u8] =
    b"data: {\"id\":\"chatcmpl-7f3a\",\"object\":\"chat.completion.chunk\",\"created\":1760000000,\
    \"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

pub(crate) fn start(two: bool) -> Part {
    Part::start("upstream", move || async move {
        let listener = TcpListener::bind(any_port()).await.unwrap();
        let address = listener.local_addr().unwrap();
        spawn_local(async move {
            loop {
                let socket = listener.accept().await.unwrap().0;
                socket.set_nodelay(true).unwrap();
                let socket = TokioIo::new(socket);
                spawn_local(async move {
                    if two {
                        let _ = http2::Builder::new(TokioExecutor::new())
                            .serve_connection(socket, service_fn(answer))
                            .await;
                    } else {
                        let _ = http1::Builder::new().serve_connection(socket, service_fn(answer)).await;
                    }
                });
            }
        });
        address
    })
}

async fn answer(
    _: Request<Incoming>,
) -> Result<Response<StreamBody<impl stream::Stream<Item = Result<Frame<Bytes>, Infallible>>>>, Infallible> {
    let mut ticks = interval(PACE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let events = stream::unfold((ticks, 0), |(mut ticks, n)| async move {
        ticks.tick().await;
        let event = if n < EVENTS { EVENT } else { LAST };
        (n <= EVENTS).then(|| (Ok(Frame::data(Bytes::from_static(event))), (ticks, n + 1)))
    });
    let response = Response::builder().header("content-type", "text/event-stream");
    Ok(response.body(StreamBody::new(events.boxed())).unwrap())
}
