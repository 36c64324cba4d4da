//! The outermost layer: what holds for every response, whatever made it.

use std::sync::Arc;

use application::IdGenerator;
use poem::http::header::{ALLOW, HOST, HeaderName, VARY};
use poem::http::{HeaderMap, HeaderValue, Method, StatusCode, Version};
use poem::{Endpoint, Request, Response, Result};
use tracing::{Instrument, Span, info_span};

use crate::base_url::BaseUrl;
use crate::compression;
use crate::cors::Cors;
use crate::media::{MediaType, negotiate};
use crate::problem::{Problem, kinds};

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const LONGEST_REQUEST_ID: usize = 64;

/// Gives every request an id and a trace span; compresses; admits other origins.
pub struct Frame<E> {
    inner: E,
    base_url: Arc<BaseUrl>,
    ids: Arc<dyn IdGenerator>,
    cors: Cors,
}

impl<E: Endpoint<Output = Response>> Frame<E> {
    /// The frame around the routes.
    pub const fn new(
        inner: E,
        base_url: Arc<BaseUrl>,
        ids: Arc<dyn IdGenerator>,
        cors: Cors,
    ) -> Self {
        Self { inner, base_url, ids, cors }
    }

    /// The caller's own id for the request, if it is one that can safely be repeated in headers and
    /// logs.
    fn request_id(&self, headers: &HeaderMap) -> HeaderValue {
        let is_plain =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
        let given = headers.get(X_REQUEST_ID).filter(|id| {
            (1..=LONGEST_REQUEST_ID).contains(&id.len()) && id.as_bytes().iter().all(is_plain)
        });
        given.cloned().unwrap_or_else(|| {
            HeaderValue::from_str(&self.ids.next_id().to_string())
                .unwrap_or(HeaderValue::from_static("-"))
        })
    }

    /// Every path ends in an endpoint that answers its own faults; what has no path ends here.
    async fn answer(&self, request: Request) -> Response {
        let hosts = request.headers().get_all(HOST).iter().count();
        let is_addressed = hosts == 1 || (hosts == 0 && request.version() < Version::HTTP_11);
        let (uri, media) = (
            request.uri().clone(),
            negotiate(request.headers(), &[MediaType::HAL, MediaType::JSON]),
        );
        let refuse = |problem: Problem| {
            let mut response =
                problem.into_response(media.unwrap_or(MediaType::JSON), &self.base_url, uri.path());
            response.headers_mut().insert(ALLOW, HeaderValue::from_static(""));
            response
                .headers_mut()
                .insert(VARY, HeaderValue::from_static("Accept, Accept-Encoding"));
            response
        };
        if !is_addressed {
            return refuse(Problem::new(&kinds::MALFORMED_HOST, "Send exactly one Host header."));
        }
        let no_route = |_| {
            refuse(Problem::new(
                &kinds::NO_ROUTE,
                "This service has no such path; `/` links all it has.",
            ))
        };
        self.inner.call(request).await.unwrap_or_else(no_route)
    }
}

impl<E: Endpoint<Output = Response>> Endpoint for Frame<E> {
    type Output = Response;

    async fn call(&self, request: Request) -> Result<Response> {
        let request_id = self.request_id(request.headers());
        let span = span_of(&request, &request_id);
        let headers = (!self.cors.is_off()).then(|| request.headers().clone());
        let is_preflight = request.method() == Method::OPTIONS;
        let takes_gzip = compression::is_accepted(request.headers());
        async {
            let mut response = self.answer(request).await;
            if takes_gzip {
                response = compression::compress(response).await;
            }
            if let Some(headers) = headers {
                self.cors.admit(&headers, is_preflight, response.headers_mut());
            }
            response.headers_mut().insert(X_REQUEST_ID, request_id);
            log(response.status());
            Ok(response)
        }
        .instrument(span)
        .await
    }
}

fn span_of(request: &Request, request_id: &HeaderValue) -> Span {
    let id = request_id.to_str().unwrap_or_default();
    info_span!("request", id, method = %request.method(), path = request.uri().path())
}

fn log(status: StatusCode) {
    if status.is_server_error() {
        tracing::warn!(status = status.as_u16(), "answered");
    } else {
        tracing::debug!(status = status.as_u16(), "answered");
    }
}
