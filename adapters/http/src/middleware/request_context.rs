//! The outermost layer, for properties of every response.

use std::panic::{self, AssertUnwindSafe};
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use application::IdGenerator;
use application::traces::{SpanIds, TraceId, scope};
use http_body_util::combinators::BoxBody;
use hyper::body::Body as _;
use poem::http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderName,
    VARY, X_CONTENT_TYPE_OPTIONS,
};
use poem::http::uri::{Authority, Uri};
use poem::http::{HeaderMap, HeaderValue, Method, StatusCode, Version};
use poem::{Body, Endpoint, Request, Response, Result};
use tracing::{Instrument, Span, info_span};

use crate::base_url::BaseUrl;
use crate::headers::METHODS;
use crate::headers::accept::{accepts_gzip, negotiate};
use crate::headers::content_policy::POLICY;
use crate::headers::media_type::MediaType;
use crate::headers::sole::{Repeated, sole};
use crate::headers::trace_context::remote_span;
use crate::metrics::{ActiveRequest, Answer, HttpMetrics};
use crate::middleware::access_log::{AccessLog, LoggedRequest};
use crate::middleware::cors::Cors;
use crate::middleware::trace::{RequestTracer, TracedRequest};
use crate::middleware::{compression, known_paths};
use crate::problem::{Problem, kinds};
use crate::request::details::{RequestDetails, Routed};

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const LONGEST_REQUEST_ID: usize = 64;

pub struct RequestContext<E> {
    pub inner: E,
    pub base_url: Arc<BaseUrl>,
    pub ids: Arc<dyn IdGenerator>,
    pub cors: Cors,
    pub metrics: Arc<HttpMetrics>,
    pub access_log: Option<Arc<AccessLog>>,
    pub tracer: Option<RequestTracer>,
    pub known_paths: Vec<String>,
}

impl<E: Endpoint<Output = Response>> RequestContext<E> {
    /// Accepts the client's id if it is safe in headers and logs.
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

    /// Endpoints answer their own errors. Only unknown paths are answered here.
    async fn answer(&self, request: Request) -> Response {
        let media = negotiated(&request);
        if !is_addressed(&request) {
            let detail = "Send exactly one Host header with a host and an optional port.";
            return self.refuse(Problem::new(&kinds::MALFORMED_HOST, detail), media, request.uri());
        }
        let uri = request.uri().clone();
        // RFC 9110 section 9.3.7.
        let is_about_server = request.method() == Method::OPTIONS && uri.path() == "*";
        self.inner.call(request).await.unwrap_or_else(|_| {
            if is_about_server {
                return Response::builder()
                    .status(StatusCode::NO_CONTENT)
                    .header(ALLOW, METHODS.join(", "))
                    .header(CONTENT_TYPE, media.header())
                    .finish();
            }
            let detail = known_paths::meant(&self.known_paths, uri.path()).map_or_else(
                || "Unknown path. See the links at `/`.".to_owned(),
                |meant| format!("Unknown path. Did you mean `{meant}`?"),
            );
            self.refuse(Problem::new(&kinds::NO_ROUTE, detail), media, &uri)
        })
    }

    fn refuse(&self, problem: Problem, media: MediaType, uri: &Uri) -> Response {
        let mut response = problem.into_response(media, &self.base_url, uri.path());
        let headers = response.headers_mut();
        headers.insert(ALLOW, HeaderValue::from_static(""));
        headers.insert(VARY, HeaderValue::from_static("Accept, Accept-Encoding"));
        response
    }

    fn observe(&self, request: &Request, request_id: &HeaderValue) -> Option<Observed> {
        let traced = self.tracer.as_ref().and_then(|tracer| tracer.begin(request, request_id));
        if self.access_log.is_none() && !self.metrics.is_collected() && traced.is_none() {
            return None;
        }
        let routed = Arc::<Routed>::default();
        let headers = request.headers();
        let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
        let ids = traced.as_ref().map(|traced| traced.ids);
        let trace = match &self.tracer {
            Some(_) => ids.map(|ids| ids.trace),
            // Without a tracer, only the caller samples the trace.
            None => remote_span(headers).filter(|span| span.is_sampled).map(|span| span.trace),
        };
        let begin_line = |log: &Arc<AccessLog>| {
            log.begin(request, request_id, ids.map(|ids| ids.trace), Arc::clone(&routed))
        };
        let logged = self.access_log.as_ref().map(begin_line);
        Some(Observed {
            began: Instant::now(),
            method: request.method().clone(),
            trace,
            traced,
            active: self.metrics.begin(length.and_then(|length| length.parse().ok())),
            logged,
            routed,
        })
    }
}

fn negotiated(request: &Request) -> MediaType {
    negotiate(request.headers(), &[MediaType::HAL, MediaType::JSON]).unwrap_or(MediaType::JSON)
}

/// Requires exactly one well-formed Host (RFC 9112 section 3.2).
fn is_addressed(request: &Request) -> bool {
    match sole(request.headers(), HOST) {
        Ok(Some(host)) => is_host(host),
        Ok(None) => request.version() < Version::HTTP_11,
        Err(Repeated) => false,
    }
}

fn is_host(value: &HeaderValue) -> bool {
    let Ok(text) = value.to_str() else { return false };
    let is_port = |digits: &str| {
        digits.bytes().all(|digit| digit.is_ascii_digit())
            && (digits.is_empty() || digits.parse::<u16>().is_ok())
    };
    let (name, port) = text.split_once(':').unwrap_or((text, ""));
    // The parser allocates; common names skip it.
    if !name.is_empty() && name.bytes().all(is_common_in_names) {
        return is_port(port);
    }
    let authority = text.parse::<Authority>();
    authority.is_ok_and(|authority| {
        let host = authority.host();
        let port = authority.as_str().strip_prefix(host);
        !host.is_empty()
            && port
                .is_some_and(|port| port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
    })
}

const fn is_common_in_names(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.')
}

fn secure(headers: &mut HeaderMap) {
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Without it, browsers cache heuristically, for a tenth of the time since Last-Modified (RFC
    // 9111 section 4.2.2).
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache"));
    let media = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    if media.is_some_and(|media| media.starts_with(b"text/html")) {
        headers.entry(CONTENT_SECURITY_POLICY).or_insert(POLICY);
    }
}

impl<E: Endpoint<Output = Response>> Endpoint for RequestContext<E> {
    type Output = Response;

    async fn call(&self, mut request: Request) -> Result<Response> {
        // The id contains the time, and the generator panics while the clock is before 1970.
        let make_id = AssertUnwindSafe(|| self.request_id(request.headers()));
        let Ok(request_id) = panic::catch_unwind(make_id) else {
            tracing::error!("cannot create a request id; check the clock");
            let problem = Problem::internal();
            let mut response = self.refuse(problem, negotiated(&request), request.uri());
            secure(response.headers_mut());
            return Ok(response);
        };
        let observed = self.observe(&request, &request_id);
        let traced = observed.as_ref().and_then(|observed| observed.traced.as_ref());
        let (span, trace_span) = spans(&request, &request_id, traced);
        let routed = observed.as_ref().map(|observed| Arc::clone(&observed.routed));
        request.set_data(RequestDetails { id: request_id.clone(), routed });
        let headers = (!self.cors.is_off()).then(|| request.headers().clone());
        let is_preflight = request.method() == Method::OPTIONS;
        let takes_gzip = accepts_gzip(request.headers());
        // Pinned before it is wrapped, because each wrapper would copy it.
        let answer = pin!(async {
            let mut response = self.answer(request).await;
            if takes_gzip {
                response = compression::compress(response).await;
            }
            if let Some(headers) = headers {
                self.cors.admit(&headers, is_preflight, response.headers_mut());
            }
            secure(response.headers_mut());
            response.headers_mut().insert(X_REQUEST_ID, request_id);
            log(response.status());
            Ok(match observed {
                Some(observed) => observed.answered(response),
                None => response,
            })
        });
        let is_traced = !trace_span.is_none();
        scope(is_traced, pin!(answer.instrument(span).instrument(trace_span))).await
    }
}

/// Dropped without a response if the client disconnected.
struct Observed {
    began: Instant,
    method: Method,
    trace: Option<TraceId>,
    routed: Arc<Routed>,
    traced: Option<TracedRequest>,
    active: ActiveRequest,
    logged: Option<LoggedRequest>,
}

impl Observed {
    fn answered(self, mut response: Response) -> Response {
        // The body of a HEAD response has the length of GET's and is not sent.
        let bytes = if self.method == Method::HEAD { Some(0) } else { size(&mut response) };
        if let Some(mut logged) = self.logged {
            (logged.status, logged.bytes) = (Some(response.status()), bytes);
        }
        let route = self.routed.route.get();
        if let Some(traced) = self.traced {
            traced.answered(route.map(|route| &**route), response.status());
        }
        self.active.answered(Answer {
            route,
            method: &self.method,
            status: response.status(),
            time: self.began.elapsed(),
            bytes,
            trace: self.trace,
        });
        response
    }
}

fn size(response: &mut Response) -> Option<u64> {
    let body: BoxBody<_, _> = response.take_body().into();
    let size = body.size_hint().exact();
    response.set_body(Body::from(body));
    size
}

fn spans(
    request: &Request,
    request_id: &HeaderValue,
    traced: Option<&TracedRequest>,
) -> (Span, Span) {
    let id = request_id.to_str().unwrap_or_default();
    let path = request.uri().path();
    let Some(TracedRequest { ids: SpanIds { trace, span }, span: trace_span, .. }) = traced else {
        return (info_span!("request", id, method = %request.method(), path), Span::none());
    };
    let span_id = format_args!("{span:016x}");
    let logged =
        info_span!("request", id, method = %request.method(), path, trace_id = %trace, %span_id);
    (logged, trace_span.clone())
}

fn log(status: StatusCode) {
    if status.is_server_error() {
        tracing::warn!(status = status.as_u16(), "answered");
    } else {
        tracing::debug!(status = status.as_u16(), "answered");
    }
}

#[cfg(test)]
mod tests {
    use application::ports::MockIdGenerator;
    use domain::ItemId;
    use poem::http::{HeaderValue, Method};
    use poem::{Endpoint as _, EndpointExt as _, Request, Response, Route, endpoint::make_sync};

    use super::{Arc, Cors, HttpMetrics, RequestContext, is_host};
    use crate::request::details::routed_of;

    #[test]
    fn a_host_is_a_name_or_an_address_with_or_without_a_port() {
        for (host, is_well_formed) in [
            ("example.org", true),
            ("example.org:8080", true),
            ("example.org:", true),
            ("127.0.0.1:1", true),
            ("[::1]:8080", true),
            ("a_b.local", true),
            ("", false),
            (":80", false),
            ("example.org:x", false),
            ("example.org:+1", false),
            ("example.org:65536", false),
            ("example.org:1:2", false),
            ("user@example.org", false),
            ("example.org/path", false),
            ("a b", false),
            ("[::1", false),
            ("http://example.org", false),
            ("r\u{e9}sum\u{e9}", false),
        ] {
            assert_eq!(is_host(&HeaderValue::from_str(host).unwrap()), is_well_formed, "{host}");
        }
    }

    fn context(
        inner: Route,
        ids: MockIdGenerator,
        metrics: Arc<HttpMetrics>,
    ) -> RequestContext<Route> {
        RequestContext {
            inner,
            base_url: Arc::new("http://127.0.0.1:8080".parse().unwrap()),
            ids: Arc::new(ids),
            cors: Cors::default(),
            metrics,
            access_log: None,
            tracer: None,
            known_paths: Vec::new(),
        }
    }

    /// `Uuid::now_v7` panics while the clock is before 1970.
    #[tokio::test]
    async fn a_clock_before_1970_is_a_500_and_no_lost_connection() {
        let mut ids = MockIdGenerator::new();
        ids.expect_next_id().returning(|| panic!("the clock is before 1970"));
        let routes = Route::new().at("/", make_sync(|_| Response::from(())).boxed());
        let endpoint = context(routes, ids, Arc::default());
        let request = Request::builder().method(Method::GET).uri("/".parse().unwrap());
        let response = endpoint.call(request.header("host", "localhost").finish()).await.unwrap();
        assert_eq!(response.status(), 500);
        assert_eq!(response.content_type(), Some("application/hal+json"));
        let body = response.into_body().into_string().await.unwrap();
        assert!(body.contains("\"code\":\"internal\""), "{body}");
    }

    #[tokio::test]
    async fn a_request_is_observed_where_somebody_looks() {
        for is_collected in [false, true] {
            let metrics = Arc::new(HttpMetrics::new(is_collected.then(Arc::default)));
            let is_observed = move |request: Request| {
                assert_eq!(routed_of(&request).is_some(), is_collected);
                Response::from(())
            };
            let routes = Route::new().at("/", make_sync(is_observed).boxed());
            let mut ids = MockIdGenerator::new();
            ids.expect_next_id().returning(|| ItemId::from_uuid(uuid::Uuid::nil()));
            let endpoint = context(routes, ids, metrics);
            let request = Request::builder().uri("/".parse().unwrap()).header("host", "localhost");
            assert_eq!(endpoint.call(request.finish()).await.unwrap().status(), 200);
        }
    }
}
