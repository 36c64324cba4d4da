//! The trace of a request: sampling and its span.

use std::sync::Arc;

use application::traces::{SpanIds, TARGET, Tracer};
use poem::Request;
use poem::http::uri::Uri;
use poem::http::{HeaderValue, Method, StatusCode, Version};
use tracing::field::Empty;
use tracing::{Span, info_span};

use crate::base_url::BaseUrl;
use crate::headers::trace_context::{remote_span, trace_state};
use crate::metrics::method_name;

/// In bytes.
const LONGEST_PATH: usize = 1024;

pub struct RequestTracer {
    tracer: Arc<dyn Tracer>,
    server: Uri,
}

impl RequestTracer {
    pub fn new(tracer: Arc<dyn Tracer>, base_url: &BaseUrl) -> Self {
        Self { tracer, server: base_url.as_str().parse().unwrap_or_default() }
    }

    pub fn begin(&self, request: &Request, request_id: &HeaderValue) -> Option<TracedRequest> {
        let parent = remote_span(request.headers());
        // The caller's decision takes precedence.
        if !parent.as_ref().map_or_else(|| self.tracer.samples(), |parent| parent.is_sampled) {
            return None;
        }
        let span = self.span(request, request_id);
        let state = parent.and_then(|_| trace_state(request.headers())).unwrap_or_default();
        let ids = self.tracer.start(&span, parent.as_ref(), &state);
        let (tracer, method) = (Arc::clone(&self.tracer), request.method().clone());
        Some(TracedRequest { ids, span, tracer, method })
    }

    /// Follows OpenTelemetry's conventions for servers. Omits the caller, and the query, which may
    /// hold personal data.
    fn span(&self, request: &Request, request_id: &HeaderValue) -> Span {
        let path = request.uri().path();
        info_span!(
            target: TARGET,
            parent: None,
            "request",
            otel.name = span_name(request.method(), None),
            otel.kind = "server",
            otel.status_code = Empty,
            request_id = request_id.to_str().unwrap_or_default(),
            http.request.method = method_name(request.method()),
            http.route = Empty,
            http.response.status_code = Empty,
            error.r#type = Empty,
            url.scheme = self.server.scheme_str(),
            url.path = &path[..path.floor_char_boundary(LONGEST_PATH)],
            server.address = self.server.host(),
            server.port = self.server.port_u16().map(i64::from),
            network.protocol.version = version(request.version()),
        )
    }
}

pub struct TracedRequest {
    pub ids: SpanIds,
    pub span: Span,
    tracer: Arc<dyn Tracer>,
    method: Method,
}

impl TracedRequest {
    /// A client error is not an error of the service's span.
    pub fn answered(self, route: Option<&str>, status: StatusCode) {
        if let Some(route) = route {
            self.span.record("http.route", route);
            self.tracer.rename(&self.span, span_name(&self.method, Some(route)));
        }
        self.span.record("http.response.status_code", i64::from(status.as_u16()));
        if status.is_server_error() {
            self.span.record("otel.status_code", "error").record("error.type", status.as_str());
        }
    }
}

fn span_name(method: &Method, route: Option<&str>) -> String {
    let method = match method_name(method) {
        "_OTHER" => "HTTP",
        name => name,
    };
    route.map_or_else(|| method.to_owned(), |route| format!("{method} {route}"))
}

fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "1.0",
        Version::HTTP_2 => "2",
        _ => "1.1",
    }
}

#[cfg(test)]
mod tests {
    use poem::http::Method;

    use super::span_name;

    #[test]
    fn a_span_is_named_by_known_methods_and_routes() {
        let other = Method::from_bytes(b"BREW").unwrap();
        assert_eq!(span_name(&Method::GET, Some("/proposals/{id}")), "GET /proposals/{id}");
        assert_eq!(
            (span_name(&Method::PUT, None), span_name(&other, Some("/"))),
            ("PUT".into(), "HTTP /".into())
        );
    }
}
