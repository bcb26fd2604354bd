//! The engine's own spans, as an instrumented engine has them: one for each request, in the trace that
//! its caller began. Made by OpenTelemetry's SDK, which knows nothing of Weir.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use opentelemetry::KeyValue;
use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry::trace::{Span as _, SpanKind, Tracer as _, TracerProvider as _};
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, Span};
use tokio::time::Instant;

use super::http::Answer;
use super::playback::Broken;
use crate::{clock, crypto};

/// The name that vLLM gives its span.
const SPAN: &str = "llm_request";

/// What makes spans.
pub(crate) struct Tracing {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    propagator: TraceContextPropagator,
}

impl fmt::Debug for Tracing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracing").finish_non_exhaustive()
    }
}

impl Tracing {
    /// Sends spans to a URL that takes OTLP over HTTP; an error says why it cannot.
    pub(crate) fn new(endpoint: &str) -> Result<Self, String> {
        crypto::choose();
        let exporter = SpanExporter::builder().with_http().with_endpoint(endpoint).build();
        let exporter = exporter.map_err(|error| error.to_string())?;
        let resource = Resource::builder().with_service_name("weir-sim").build();
        let provider =
            SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build();
        let tracer = provider.tracer("weir-sim");
        Ok(Self { provider, tracer, propagator: TraceContextPropagator::new() })
    }

    /// Begins the span of a request, below its caller's.
    pub(crate) fn begin(&self, headers: &HeaderMap, path: &str) -> Request {
        let caller = self.propagator.extract(&Headers(headers));
        let attributes = [KeyValue::new("url.path", path.to_owned())];
        let span = self
            .tracer
            .span_builder(SPAN)
            .with_kind(SpanKind::Server)
            .with_attributes(attributes)
            .start_with_context(&self.tracer, &caller);
        Request { span, begun: clock::now() }
    }

    /// Sends what is left. It may take as long as the destination does.
    pub(crate) fn shut_down(&self) {
        // What cannot be sent any more is lost, as an engine's is.
        let _ = self.provider.shutdown();
    }
}

/// A request under way.
pub(crate) struct Request {
    span: Span,
    begun: Instant,
}

impl Request {
    /// Ends with the answer's body, or when that is dropped.
    pub(crate) fn answered(mut self, response: Response<Answer>) -> Response<Answer> {
        let status = i64::from(response.status().as_u16());
        self.span.set_attribute(KeyValue::new("http.response.status_code", status));
        response.map(|body| Traced { body, request: self, has_begun: false }.boxed_unsync())
    }
}

/// A body that notes when its first bytes went out.
struct Traced {
    body: Answer,
    request: Request,
    has_begun: bool,
}

impl Body for Traced {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_some() && !self.has_begun {
            self.has_begun = true;
            let waited = self.request.begun.elapsed().as_secs_f64();
            let attribute = KeyValue::new("gen_ai.latency.time_to_first_token", waited);
            self.request.span.set_attribute(attribute);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(|value| value.to_str().ok())
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(http::HeaderName::as_str).collect()
    }
}
