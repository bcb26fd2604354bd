//! What is legal passes, whatever it looks like and however it is cut: to the letter, with one record.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::harness::body::Trailers;
use crate::harness::message::Head;
use crate::harness::{LAST_CHUNK, Rig, chunk};

/// Exchanges that are tried; each takes two sockets and a few milliseconds.
const CASES: u32 = 150;

/// One message beyond its first line.
#[derive(Clone, Debug)]
struct Message {
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// In chunks of this size; with a length otherwise.
    chunked: Option<usize>,
    /// Where its bytes are cut into writes.
    cuts: Vec<prop::sample::Index>,
}

#[derive(Clone, Debug)]
struct Case {
    method: &'static str,
    target: String,
    request: Message,
    status: u16,
    response: Message,
}

fn header() -> impl Strategy<Value = (String, String)> {
    // Names that nobody on the way has an opinion about.
    let name = "[Xx]-[A-Za-z][A-Za-z0-9!#$%&'*+.^_`|~-]{0,20}";
    let value = "([!-~]([ -~\t]{0,40}[!-~])?)?";
    (name, value)
}

fn message() -> impl Strategy<Value = Message> {
    (
        prop::collection::vec(header(), 0..6),
        prop::collection::vec(any::<u8>(), 0..600),
        prop::option::of(1_usize..200),
        prop::collection::vec(any::<prop::sample::Index>(), 0..5),
    )
        .prop_map(|(headers, body, chunked, cuts)| Message { headers, body, chunked, cuts })
}

fn case() -> impl Strategy<Value = Case> {
    let method = prop::sample::select(vec!["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "QUERY"]);
    let target = "/[a-zA-Z0-9._~!$&'()*+,;=:@%/-]{0,30}([?][a-zA-Z0-9._~!$&'()*+,;=:@/?-]{0,20})?";
    let target = target.prop_filter("escapes are two digits", |text| !text.contains('%'));
    let status = prop::sample::select(vec![200_u16, 201, 207, 299, 400, 404, 418, 429, 500, 503, 599]);
    (method, target, message(), status, message()).prop_map(|(method, target, request, status, response)| {
        Case { method, target, request, status, response }
    })
}

impl Message {
    fn bytes(&self, first: &str) -> Vec<u8> {
        let mut bytes = format!("{first}\r\n").into_bytes();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        match self.chunked {
            Some(size) => {
                bytes.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
                self.body.chunks(size).for_each(|part| bytes.extend_from_slice(&chunk(part)));
                bytes.extend_from_slice(LAST_CHUNK);
            }
            None => {
                bytes.extend_from_slice(format!("Content-Length: {}\r\n\r\n", self.body.len()).as_bytes());
                bytes.extend_from_slice(&self.body);
            }
        }
        bytes
    }

    fn writes(&self, first: &str) -> Vec<Vec<u8>> {
        let bytes = self.bytes(first);
        let mut cuts: Vec<usize> = self.cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        cuts.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec()).filter(|part| !part.is_empty()).collect()
    }

    /// What of a head is the message's own, names as spelt; those of one name keep their order.
    fn own(&self, head: &Head) -> (Trailers, Trailers) {
        let own = |all: &Trailers| {
            let mut own: Trailers =
                all.iter().filter(|(name, _)| name.to_ascii_lowercase().starts_with("x-")).cloned().collect();
            own.sort_by_key(|(name, _)| name.to_ascii_lowercase());
            own
        };
        (own(&self.headers), own(&head.headers))
    }
}

async fn passes(case: &Case) {
    let (mut rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    let first = format!("{} {} HTTP/1.1\r\nHost: weir.test", case.method, case.target);
    let send = async {
        for part in case.request.writes(&first) {
            client.send(part).await;
            tokio::task::yield_now().await;
        }
    };
    let ((mut engine, asked), ()) = tokio::join!(upstream.asked(), send);
    assert_eq!(asked.head.line, format!("{} {} HTTP/1.1", case.method, case.target));
    let (sent, came) = case.request.own(&asked.head);
    assert_eq!(came, sent);
    assert_eq!(asked.body, case.request.body);
    assert_eq!(asked.head.is_chunked(), case.request.chunked.is_some());
    for part in case.response.writes(&format!("HTTP/1.1 {} Odd Reason", case.status)) {
        engine.send(part).await;
        tokio::task::yield_now().await;
    }
    let answer = client.response().await;
    assert_eq!(answer.head.line, format!("HTTP/1.1 {} Odd Reason", case.status));
    let (sent, came) = case.response.own(&answer.head);
    assert_eq!(came, sent);
    assert_eq!(answer.body, case.response.body);
    assert_eq!(answer.head.is_chunked(), case.response.chunked.is_some());
    let record = rig.record().await;
    assert_eq!(record.status, Some(case.status));
    assert_eq!(record.request.bytes, case.request.body.len() as u64);
    assert_eq!(record.answer.bytes, case.response.body.len() as u64);
    assert!(rig.has_no_record(), "one exchange, one record");
}

#[test]
fn what_is_legal_passes_to_the_letter() {
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runner
        .run(&case(), |case| {
            runtime.block_on(passes(&case));
            Ok(())
        })
        .unwrap();
}
