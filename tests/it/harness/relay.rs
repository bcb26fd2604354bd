//! One answer relayed whole, by any version of HTTP on either side.

use bytes::Bytes;
use http::{Request, Response};
use weir_core::exchange::Exchange;

use super::message::{chunk, chunked_head, request};
use super::{LAST_CHUNK, Rig, split};

/// Who speaks HTTP/2; the others speak HTTP/1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Carriers {
    pub(crate) http2_client: bool,
    pub(crate) http2_upstream: bool,
}

impl Carriers {
    /// Every pair.
    pub(crate) const ALL: [Self; 4] = [
        Self { http2_client: false, http2_upstream: false },
        Self { http2_client: true, http2_upstream: false },
        Self { http2_client: false, http2_upstream: true },
        Self { http2_client: true, http2_upstream: true },
    ];
}

/// What is asked and answered.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) ask: Vec<u8>,
    pub(crate) ask_type: String,
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) answer: Vec<u8>,
}

impl Script {
    /// A request of JSON, and an answer of this type.
    pub(crate) fn post(path: &str, ask: &str, content_type: Option<&str>, answer: Vec<u8>) -> Self {
        let headers = content_type.map(|media| ("content-type".to_owned(), media.to_owned()));
        Self {
            method: "POST".to_owned(),
            path: path.to_owned(),
            ask: ask.as_bytes().to_vec(),
            ask_type: "application/json".to_owned(),
            status: 200,
            headers: headers.into_iter().collect(),
            answer,
        }
    }

    /// Relays the answer in parts of `size` through a proxy of its own; what the client got, and the record.
    pub(crate) async fn relay(&self, carriers: Carriers, size: usize) -> (u16, Vec<u8>, Exchange) {
        let (mut rig, upstream) = Rig::with(|setup| {
            if carriers.http2_upstream {
                setup.http2_upstream();
            }
        })
        .await;
        let parts = split(&self.answer, size);
        let engine = async {
            if !carriers.http2_upstream {
                let (mut engine, _) = upstream.asked().await;
                engine.send(self.http1_answer(&parts)).await;
                return None;
            }
            let mut engine = upstream.accept2().await;
            let (_, mut respond) = engine.asked().await;
            let mut head = Response::builder().status(self.status);
            for (name, value) in &self.headers {
                head = head.header(name, value);
            }
            let mut stream = respond.send_response(head.body(()).unwrap(), false).unwrap();
            for part in parts {
                stream.send_data(part.into(), false).unwrap();
            }
            stream.send_data(Bytes::new(), true).unwrap();
            // Dropped, it would take its connection along.
            Some(engine)
        };
        let client = async {
            if carriers.http2_client {
                let mut client = rig.http2_client().await;
                let head = Request::builder()
                    .method(self.method.as_str())
                    .uri(format!("http://weir.test{}", self.path))
                    .header("content-type", &self.ask_type);
                let asked = client.send(head.body(()).unwrap(), self.ask.clone()).await;
                let mut answer = asked.answer().await;
                answer.end().await.unwrap();
                (answer.status(), answer.bytes)
            } else {
                let mut client = rig.client().await;
                let headers = format!("Content-Type: {}\r\n", self.ask_type);
                client.send(request(&format!("{} {}", self.method, self.path), &headers, &self.ask)).await;
                let answer = client.response().await;
                (answer.status(), answer.body)
            }
        };
        let (_engine, (status, body)) = tokio::join!(engine, client);
        (status, body, rig.record().await)
    }

    /// Each part is a chunk of its own: so each is read by itself.
    fn http1_answer(&self, parts: &[Vec<u8>]) -> Vec<u8> {
        let headers: String =
            self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let mut answer = chunked_head(&format!("{} X", self.status), &headers);
        parts.iter().for_each(|part| answer.extend_from_slice(&chunk(part)));
        answer.extend_from_slice(LAST_CHUNK);
        answer
    }
}
