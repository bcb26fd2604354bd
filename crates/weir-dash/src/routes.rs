//! Which path is answered by what.

use std::convert::Infallible;

use http::header::{ALLOW, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;

use crate::pages::{metrics, plain, readiness};
use crate::reply::Body;
use crate::server::Visit;
use crate::{api, refusal::Refusal};

/// Answers a request.
pub(crate) async fn respond(request: Request<Incoming>, visit: &Visit) -> Result<Response<Body>, Infallible> {
    let path = request.uri().path();
    Ok(match path == "/api" || path.starts_with("/api/") {
        true => api::answer(request, visit).await.unwrap_or_else(|refusal: Refusal| refusal.response()),
        false => page(&request, visit).await,
    })
}

async fn page(request: &Request<Incoming>, visit: &Visit) -> Response<Body> {
    // The server leaves out the body of an answer to HEAD.
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    let handles = &visit.surface.handles;
    match request.uri().path() {
        "/metrics" => metrics(request.headers(), handles).await,
        "/healthz" => plain(StatusCode::OK, "ok\n"),
        "/readyz" => readiness(*handles.ready.borrow()),
        _ => plain(StatusCode::NOT_FOUND, "not found; there are /metrics, /healthz, /readyz and /api\n"),
    }
}
