//! Where an exchange stands in a distributed trace, after W3C Trace Context.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The id that all spans of a trace share. Never zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId([u8; 16]);

/// The id of one span. Never zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId([u8; 8]);

/// What a client says of the trace that its request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParent {
    /// The trace.
    pub trace_id: TraceId,
    /// The span that the request was sent from.
    pub span_id: SpanId,
    /// Whether the client keeps its part of the trace.
    pub sampled: bool,
}

/// An exchange's place in its trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracePlace {
    /// The trace: the client's, or a new one.
    pub trace_id: TraceId,
    /// The span of the exchange as the client sees it.
    pub server_span: SpanId,
    /// The span of the call to the upstream, a child of the other. It is the one that the upstream is
    /// told of.
    pub client_span: SpanId,
    /// The client's span, where it named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentSpan>,
}

/// The span that a request was sent from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentSpan {
    /// Its id.
    pub span_id: SpanId,
    /// Whether the client keeps its part of the trace.
    pub sampled: bool,
    /// The client's `tracestate`, as it came; empty if there was none.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub state: Box<str>,
}

/// The length of a `traceparent` of version 00.
const PARENT_LENGTH: usize = 55;

/// The bit that says that the sender keeps its part of the trace.
const SAMPLED: u8 = 1;

impl TraceId {
    /// An id of these bytes; `None` if they are all zero.
    pub fn new(bytes: [u8; 16]) -> Option<Self> {
        (bytes != [0; 16]).then_some(Self(bytes))
    }

    /// The bytes, the most significant first.
    pub const fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Whether the trace is among the `ratio` (0 to 1) of traces that are kept. The answer is the
    /// same wherever in a trace it is asked, as OpenTelemetry's `TraceIdRatioBased` has it.
    pub fn is_within(&self, ratio: f64) -> bool {
        let [.., a, b, c, d, e, f, g, h] = self.0;
        let place = u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 1;
        // Above 1 and below 0 the conversion stays at the ends of the range.
        place < (ratio * (1_u64 << 63) as f64) as u64
    }
}

impl SpanId {
    /// An id of these bytes; `None` if they are all zero.
    pub fn new(bytes: [u8; 8]) -> Option<Self> {
        (bytes != [0; 8]).then_some(Self(bytes))
    }

    /// The bytes, the most significant first.
    pub const fn bytes(&self) -> &[u8; 8] {
        &self.0
    }
}

impl TraceParent {
    /// Reads the value of a `traceparent` header. `None` for one that the standard calls invalid: it
    /// counts as absent. Of a version later than 00 that is read which 00 has.
    pub fn parse(value: &[u8]) -> Option<Self> {
        let (known, rest) = value.split_at_checked(PARENT_LENGTH)?;
        let [version] = hex(known.get(..2)?)?;
        let ends_here = rest.is_empty() || (version > 0 && rest[0] == b'-');
        let parted = [2, 35, 52].iter().all(|&at| known[at] == b'-');
        if version == 0xff || !ends_here || !parted {
            return None;
        }
        let [flags] = hex(&known[53..])?;
        Some(Self {
            trace_id: TraceId::new(hex(&known[3..35])?)?,
            span_id: SpanId::new(hex(&known[36..52])?)?,
            sampled: flags & SAMPLED != 0,
        })
    }
}

impl TracePlace {
    /// The `traceparent` that the upstream is sent. What happens there is kept unless the client said
    /// that its part is not: what Weir keeps is decided when the exchange is over.
    pub fn for_upstream(&self) -> String {
        let sampled = self.parent.as_ref().is_none_or(|parent| parent.sampled);
        format!("00-{}-{}-{:02x}", self.trace_id, self.client_span, u8::from(sampled))
    }
}

/// Lower-case hexadecimal digits, two a byte.
fn hex<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    if digits.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.as_chunks::<2>().0) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

fn digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

fn write_hex(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

/// Both ids are written, shown and read in the same way.
macro_rules! in_hex {
    ($($id:ident)*) => {$(
        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_hex(&self.0, f)
            }
        }

        impl fmt::Debug for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_hex(&self.0, f)
            }
        }

        impl Serialize for $id {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $id {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = Box::<str>::deserialize(deserializer)?;
                hex(text.as_bytes()).and_then(Self::new).ok_or_else(|| D::Error::custom("not an id"))
            }
        }
    )*};
}

in_hex!(TraceId SpanId);

#[cfg(test)]
mod tests {
    use super::{ParentSpan, SpanId, TraceId, TraceParent, TracePlace};

    const VALID: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_valid_header_is_read() {
        let parent = TraceParent::parse(VALID.as_bytes()).unwrap();
        assert_eq!(parent.trace_id.to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(parent.span_id.to_string(), "00f067aa0ba902b7");
        assert!(parent.sampled);
        let unsampled = VALID.replace("-01", "-02");
        assert!(!TraceParent::parse(unsampled.as_bytes()).unwrap().sampled);
    }

    #[test]
    fn a_later_version_may_have_more_behind_a_dash() {
        let later = VALID.replacen("00", "cc", 1);
        assert!(TraceParent::parse(later.as_bytes()).is_some());
        assert!(TraceParent::parse(format!("{later}-what-the-future-holds").as_bytes()).is_some());
        assert_eq!(TraceParent::parse(format!("{later}.what").as_bytes()), None);
    }

    #[test]
    fn what_is_invalid_counts_as_absent() {
        for invalid in [
            "",
            "00",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g",
            "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
            "0ü-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            " 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ] {
            assert_eq!(TraceParent::parse(invalid.as_bytes()), None, "{invalid}");
        }
    }

    #[test]
    fn the_upstream_is_sent_our_span() {
        let parent = TraceParent::parse(VALID.as_bytes()).unwrap();
        let mut place = TracePlace {
            trace_id: parent.trace_id,
            server_span: SpanId::new([1; 8]).unwrap(),
            client_span: SpanId::new([2; 8]).unwrap(),
            parent: None,
        };
        let ours = "00-4bf92f3577b34da6a3ce929d0e0e4736-0202020202020202-01";
        assert_eq!(place.for_upstream(), ours);
        place.parent = Some(ParentSpan { span_id: parent.span_id, sampled: false, state: "a=b".into() });
        assert_eq!(place.for_upstream(), ours.replace("-01", "-00"));
        let text = serde_json::to_string(&place).unwrap();
        assert_eq!(serde_json::from_str::<TracePlace>(&text).unwrap(), place, "{text}");
        assert!(serde_json::from_str::<TraceId>("\"00\"").is_err());
    }

    #[test]
    fn a_ratio_keeps_the_lower_part_of_the_ids() {
        let at = |last: u64| {
            let mut bytes = [7; 16];
            bytes[8..].copy_from_slice(&last.to_be_bytes());
            TraceId::new(bytes).unwrap()
        };
        for (last, ratio, kept) in [
            (0, 0.0, false),
            (0, 0.001, true),
            (u64::MAX / 2 + 1, 0.5, false),
            (u64::MAX / 2, 0.5, true),
            (u64::MAX, 0.999, false),
            (u64::MAX, 1.0, true),
        ] {
            assert_eq!(at(last).is_within(ratio), kept, "{last} {ratio}");
        }
    }
}
