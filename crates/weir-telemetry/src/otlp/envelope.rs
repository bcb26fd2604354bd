//! The envelope of spans: resource and scope, written once around spans that were encoded one by one.
//!
//! Encoded as one message, the length of every attribute would be worked out anew for each message that
//! it stands in, six deep. The order of fields is free, so the spans may stand behind all else.

use bytes::{BufMut, Bytes};
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint, message};

/// `ExportTraceServiceRequest.resource_spans`.
const RESOURCE_SPANS: u32 = 1;
/// `ResourceSpans.scope_spans`.
const SCOPE_SPANS: u32 = 2;
/// `ScopeSpans.spans`.
const SPANS: u32 = 2;

/// Adds a span to others of the same envelope.
pub(super) fn add(span: &Span, spans: &mut Vec<u8>) {
    message::encode(SPANS, span, spans);
}

/// A whole request with these spans.
pub(super) fn around(spans: &[u8], resource: &Resource) -> Bytes {
    let scope = InstrumentationScope {
        name: super::SCOPE.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    };
    let scope = ScopeSpans { scope: Some(scope), ..ScopeSpans::default() }.encode_to_vec();
    let resource = ResourceSpans { resource: Some(resource.clone()), ..ResourceSpans::default() };
    let mut inner = resource.encode_to_vec();
    begin(SCOPE_SPANS, scope.len() + spans.len(), &mut inner);
    inner.extend_from_slice(&scope);
    let mut request = Vec::with_capacity(inner.len() + spans.len() + 16);
    begin(RESOURCE_SPANS, inner.len() + spans.len(), &mut request);
    request.extend_from_slice(&inner);
    request.extend_from_slice(spans);
    request.into()
}

fn begin(field: u32, length: usize, into: &mut impl BufMut) {
    encode_key(field, WireType::LengthDelimited, into);
    encode_varint(length as u64, into);
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
    use opentelemetry_proto::tonic::resource::v1::Resource;
    use opentelemetry_proto::tonic::trace::v1::Span;
    use prost::Message;

    use super::{add, around};

    #[test]
    fn what_is_put_in_is_read_out() {
        for count in [0, 1, 300] {
            let spans: Vec<_> =
                (0..count).map(|nth| Span { name: format!("span {nth}"), ..Span::default() }).collect();
            let mut encoded = Vec::new();
            spans.iter().for_each(|span| add(span, &mut encoded));
            let resource = Resource { dropped_attributes_count: 7, ..Resource::default() };
            let read = ExportTraceServiceRequest::decode(around(&encoded, &resource)).unwrap();
            let [all] = &read.resource_spans[..] else { panic!("{read:?}") };
            assert_eq!(all.resource.as_ref(), Some(&resource));
            let [scoped] = &all.scope_spans[..] else { panic!("{all:?}") };
            assert_eq!(scoped.scope.as_ref().unwrap().name, "weir");
            assert_eq!(scoped.spans, spans);
        }
    }
}
