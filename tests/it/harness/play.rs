//! One exchange from end to end, written by the upstream part by part: each part has reached the
//! client before the next is written, so that what was read together is known.

use weir_core::exchange::{Exchange, Output};
use weir_core::timeline::Mark;

use super::message::{Head, Message, chat, chunk, request, stream_head};
use super::rig::Setup;
use super::{Close, LAST_CHUNK, Rig, now};

/// How the upstream ends its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With the last chunk.
    Clean,
    /// With a FIN in the middle of the body.
    Fin,
    /// With a reset in the middle of the body.
    Reset,
}

/// An exchange to be played.
pub(crate) struct Play {
    request: Vec<u8>,
    head: Vec<u8>,
    ending: Ending,
}

/// An exchange that was played.
pub(crate) struct Played {
    /// What the upstream got.
    pub(crate) asked: Message,
    pub(crate) head: Head,
    /// Whether the client saw the proper end of the body.
    pub(crate) whole: bool,
    pub(crate) record: Exchange,
    /// For each part: just before it was written, and when the client had it.
    pub(crate) parts: Vec<(u64, u64)>,
}

impl Play {
    /// A chat stream that ends as it should.
    pub(crate) fn chat() -> Self {
        Self::of(chat(r#"{"model":"m","stream":true}"#))
    }

    /// The answer to this request.
    pub(crate) fn of(request: Vec<u8>) -> Self {
        Self { request, head: stream_head(), ending: Ending::Clean }
    }

    /// The same for a request with this path and body.
    pub(crate) fn post(path: &str, body: &str) -> Self {
        Self::of(request(&format!("POST {path}"), "", body))
    }

    /// The response head, which must ask for chunks.
    pub(crate) fn head(mut self, head: Vec<u8>) -> Self {
        self.head = head;
        self
    }

    pub(crate) fn ending(mut self, ending: Ending) -> Self {
        self.ending = ending;
        self
    }

    /// Plays it through a proxy of its own. The bytes that the client gets are those written.
    pub(crate) async fn parts<P: AsRef<[u8]>>(self, parts: &[P]) -> Played {
        self.with(parts, |_| {}).await
    }

    /// The same through a proxy with changes.
    pub(crate) async fn with<P: AsRef<[u8]>>(self, parts: &[P], change: impl FnOnce(&mut Setup)) -> Played {
        let (mut rig, upstream) = Rig::with(change).await;
        let mut client = rig.client().await;
        client.send(&self.request).await;
        let (mut engine, asked) = upstream.asked().await;
        engine.send(&self.head).await;
        let head = client.response_head().await;
        let mut sent = Vec::new();
        let mut times = Vec::with_capacity(parts.len());
        for part in parts.iter().map(AsRef::as_ref) {
            sent.extend_from_slice(part);
            let before = now();
            engine.send(chunk(part)).await;
            client.body_of(sent.len()).await;
            times.push((before, now()));
        }
        match self.ending {
            Ending::Clean => engine.send(LAST_CHUNK).await,
            Ending::Fin => drop(engine),
            Ending::Reset => engine.reset(),
        }
        let whole = client.body_to_end().await;
        assert_eq!(*client.body(), sent, "the body was changed on its way");
        let record = rig.record().await;
        assert_eq!(record.answer.bytes, sent.len() as u64);
        if !whole {
            assert!(matches!(client.closed().await, Close::Fin | Close::Reset));
        }
        drop(client);
        assert!(rig.has_no_record(), "an exchange has one record");
        Played { asked, head, whole, record, parts: times }
    }
}

impl Played {
    /// What flowed.
    pub(crate) fn output(&self) -> &Output {
        self.record.answer.output.as_ref().expect("some output")
    }

    /// Compares the record's times with those of both ends: chunks of output came with `chunks`,
    /// which are indices of parts, and with nothing else.
    pub(crate) fn came_with(&self, chunks: &[usize]) {
        let (first, last) = (chunks[0], chunks[chunks.len() - 1]);
        self.mark_came_with(Mark::FirstToken, first);
        self.mark_came_with(Mark::LastToken, last);
        let output = self.output();
        assert_eq!(output.chunks, chunks.len() as u64);
        let gaps = output.all_gaps.as_ref().unwrap();
        assert_eq!(gaps.len(), chunks.len() - 1);
        for (gap, pair) in gaps.iter().zip(chunks.windows(2)) {
            let (from, to) = (self.parts[pair[0]], self.parts[pair[1]]);
            let least = to.0.saturating_sub(from.1);
            assert!((least..=to.1 - from.0).contains(&gap.0), "the gap between {pair:?} is {gap:?}");
        }
        let sum: u64 = gaps.iter().map(|gap| gap.0).sum();
        let span = self.record.timeline.between(Mark::FirstToken, Mark::LastToken);
        assert_eq!(Some(sum), span.map(|span| span.0), "the gaps make up the span");
        assert_eq!(output.gaps.inter_chunk.count, gaps.len() as u64);
        assert_eq!(output.gaps.inter_chunk.sum_ns, sum);
    }

    /// A mark was set by this part.
    pub(crate) fn mark_came_with(&self, mark: Mark, part: usize) {
        let at = self.record.timeline.at(mark).unwrap_or_else(|| panic!("no {}", mark.as_str()));
        let at = self.record.received_mono.plus(at).0;
        let (before, after) = self.parts[part];
        assert!((before..=after).contains(&at), "{} did not come with part {part}", mark.as_str());
    }

    /// A mark never came.
    pub(crate) fn lacks(&self, mark: Mark) {
        assert_eq!(self.record.timeline.at(mark), None, "{}", mark.as_str());
    }

    /// The outcome with its class, as they stand in records.
    pub(crate) fn verdict(&self) -> (&'static str, Option<&'static str>) {
        verdict(&self.record)
    }

    /// Input and output tokens as reported.
    pub(crate) fn usage(&self) -> Option<(Option<u64>, Option<u64>)> {
        self.record.answer.usage.map(|usage| (usage.input, usage.output))
    }

    /// The number of output tokens and where it is from.
    pub(crate) fn tokens(&self) -> Option<(u64, &'static str)> {
        self.record.answer.tokens.map(|tokens| (tokens.count, tokens.provenance.as_str()))
    }

    pub(crate) fn finish_reasons(&self) -> Vec<&str> {
        self.record.answer.finish_reasons.iter().map(AsRef::as_ref).collect()
    }
}

/// The outcome with its class, as they stand in records.
pub(crate) fn verdict(record: &Exchange) -> (&'static str, Option<&'static str>) {
    (record.outcome.as_str(), record.error_type.map(|class| class.as_str()))
}
