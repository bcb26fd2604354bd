//! The headers of W3C Trace Context: what of a client's is taken up, and what the upstream is sent.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use weir_core::trace::{ParentSpan, SpanId, TraceId, TraceParent, TracePlace};

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// A longer `tracestate` is passed on and not recorded.
const STATE_LIMIT: usize = 512;

/// A place in the client's trace, or in a new one where the client names none that is valid.
pub(crate) fn place(headers: &HeaderMap) -> TracePlace {
    let parent = parent(headers);
    TracePlace {
        trace_id: parent.map_or_else(|| any(TraceId::new), |parent| parent.trace_id),
        server_span: any(SpanId::new),
        client_span: any(SpanId::new),
        parent: parent.map(|parent| ParentSpan {
            span_id: parent.span_id,
            sampled: parent.sampled,
            state: state(headers),
        }),
    }
}

/// Tells the upstream of our span. The state of the client's trace stays as it is, byte for byte; that
/// of a trace which is not continued means nothing in the new one.
pub(crate) fn tell(headers: &mut HeaderMap, place: &TracePlace) {
    if let Ok(ours) = HeaderValue::from_str(&place.for_upstream()) {
        headers.insert(TRACEPARENT, ours);
    }
    if place.parent.is_none() {
        headers.remove(TRACESTATE);
    }
}

/// Two parents are none: nothing tells which is right.
fn parent(headers: &HeaderMap) -> Option<TraceParent> {
    let mut values = headers.get_all(TRACEPARENT).iter();
    let value = values.next()?;
    values.next().is_none().then(|| TraceParent::parse(value.as_bytes()))?
}

/// Several headers are one list.
fn state(headers: &HeaderMap) -> Box<str> {
    let values = headers.get_all(TRACESTATE).iter().filter_map(|value| value.to_str().ok());
    let state = values.collect::<Vec<_>>().join(",");
    if state.len() > STATE_LIMIT { Box::default() } else { state.into() }
}

/// A random id. All zeros are none, and as good as never come.
fn any<const N: usize, T>(new: fn([u8; N]) -> Option<T>) -> T {
    loop {
        let mut bytes = [0; N];
        rand::fill(&mut bytes);
        if let Some(id) = new(bytes) {
            return id;
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::{place, tell};

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn headers(list: &[(&'static str, &str)]) -> HeaderMap {
        list.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn told(list: &[(&'static str, &str)]) -> Vec<(String, String)> {
        let mut headers = headers(list);
        let place = place(&headers);
        tell(&mut headers, &place);
        let text = |value: &http::HeaderValue| value.to_str().unwrap().to_owned();
        headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect()
    }

    #[test]
    fn a_trace_is_continued_and_its_state_passes() {
        let told = told(&[("traceparent", PARENT), ("tracestate", "b=2 , a=1"), ("tracestate", "c=3")]);
        let (name, ours) = &told[0];
        assert_eq!(name, "traceparent");
        assert_eq!(ours.len(), 55);
        assert_eq!(ours[..36], PARENT[..36]);
        assert_ne!(ours[36..], PARENT[36..]);
        let states: Vec<_> = told[1..].iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(states, ["b=2 , a=1", "c=3"]);
    }

    #[test]
    fn an_invalid_parent_begins_a_new_trace_without_state() {
        for invalid in [vec![], vec!["00-0-0-00"], vec![PARENT, PARENT]] {
            let mut list = vec![("tracestate", "a=1")];
            list.extend(invalid.iter().map(|&value| ("traceparent", value)));
            let told = told(&list);
            assert_eq!(told.len(), 1, "{told:?}");
            assert!(told[0].1.starts_with("00-") && told[0].1.ends_with("-01"), "{told:?}");
            assert_ne!(told[0].1[..35], PARENT[..35]);
        }
    }

    #[test]
    fn what_the_client_does_not_keep_the_upstream_need_not_keep() {
        let unsampled = PARENT.replace("-01", "-00");
        let headers = headers(&[("traceparent", &unsampled), ("tracestate", &"x".repeat(600))]);
        let place = place(&headers);
        assert!(place.for_upstream().ends_with("-00"));
        let parent = place.parent.unwrap();
        assert!(!parent.sampled && parent.state.is_empty());
        assert_ne!(place.server_span, place.client_span);
    }
}
