//! The admin listener: metrics, probes and the log filter, on a separate address.

use std::collections::BTreeSet;
use std::future::pending;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use application::Readiness;
use poem::http::header::ALLOW;
use poem::http::{HeaderValue, StatusCode};
use poem::{Endpoint, Request, Response, Result};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::spawn_blocking;

use crate::endpoints::health::Ready;
use crate::exposition::{open_metrics, plain};
use crate::headers::accept::negotiate;
use crate::headers::media_type::{MediaType, has_content_type};
use crate::metrics::{HttpMetrics, SharedRegistry};
use crate::middleware::method_router::Handler;
use crate::server::{ListenError, Port, ServerLimits, serve};

const TEXT: MediaType = MediaType::vendor("text/plain");
const OPEN_METRICS: MediaType = MediaType::vendor("application/openmetrics-text");

const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";
const OPEN_METRICS_FORMAT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

const LONGEST_FILTER: usize = 4096;

/// Small limits: only programs nearby connect.
const CONNECTIONS: u32 = 32;
const PATIENCE: Duration = Duration::from_secs(5);

pub type SetLogFilter = fn(&str) -> std::result::Result<(), String>;

#[derive(Clone)]
pub struct Admin(Arc<AdminState>);

struct AdminState {
    metrics: SharedRegistry,
    set_log_filter: SetLogFilter,
    /// Set when the service begins to serve.
    ready: OnceLock<Ready>,
}

impl Admin {
    /// Answers until the process ends. Call it within a runtime.
    pub fn open(
        address: SocketAddr,
        metrics: SharedRegistry,
        set_log_filter: SetLogFilter,
    ) -> std::result::Result<Self, ListenError> {
        let port = Port::take_for("--admin-listen", address)?;
        let address = port.address();
        let listener = port.open()?;
        let admin = Self(Arc::new(AdminState { metrics, set_log_filter, ready: OnceLock::new() }));
        tokio::spawn(admin.clone().serve(listener));
        tracing::info!("metrics are at http://{address}/metrics");
        Ok(admin)
    }

    pub fn started(&self, store: Arc<dyn Readiness>, is_leaving: watch::Receiver<bool>) {
        // The admin readiness is plain text, without a list of failed reloads.
        let (_, reload_failed) = watch::channel(BTreeSet::new());
        let ready = Ready { store, is_leaving, is_open_to_all: false, reload_failed };
        self.0.ready.get_or_init(|| ready);
    }

    async fn serve(self, listener: TcpListener) {
        let limits = ServerLimits {
            connections: CONNECTIONS,
            first_byte_timeout: PATIENCE,
            header_timeout: PATIENCE,
            idle_timeout: PATIENCE,
            body_timeout: PATIENCE,
            write_timeout: PATIENCE,
            linger_timeout: Duration::from_secs(1),
            drain_timeout: Duration::from_secs(1),
            ..ServerLimits::default()
        };
        serve(listener, self, limits, &HttpMetrics::default(), pending()).await;
    }

    /// Encodes on a blocking thread: it takes a millisecond, more if many files are open.
    async fn metrics(&self, request: &Request) -> Response {
        let media = negotiate(request.headers(), &[TEXT, OPEN_METRICS]);
        let is_open = media == Some(OPEN_METRICS);
        let content_type = if is_open { OPEN_METRICS_FORMAT } else { TEXT_FORMAT };
        let metrics = Arc::clone(&self.0.metrics);
        let write = move || {
            let text = open_metrics(&metrics.lock());
            if is_open { text } else { plain(&text) }
        };
        match spawn_blocking(write).await {
            Ok(text) => Response::builder().content_type(content_type).body(text),
            Err(_) => text(StatusCode::INTERNAL_SERVER_ERROR, "cannot write the metrics"),
        }
    }

    async fn readiness(&self, request: &mut Request) -> Response {
        let Some(ready) = self.0.ready.get() else { return self.startup() };
        match ready.handle(request).await {
            Ok(_) => text(StatusCode::OK, "ready"),
            Err(_) if *ready.is_leaving.borrow() => {
                text(StatusCode::SERVICE_UNAVAILABLE, "the service is shutting down")
            }
            Err(_) => text(StatusCode::SERVICE_UNAVAILABLE, "the store cannot be reached"),
        }
    }

    fn startup(&self) -> Response {
        match self.0.ready.get() {
            Some(_) => text(StatusCode::OK, "started"),
            None => text(StatusCode::SERVICE_UNAVAILABLE, "the service is starting"),
        }
    }

    async fn set_log_filter(&self, mut request: Request) -> Response {
        if !has_content_type(request.headers(), &[TEXT]) {
            let fix = "send the filter as text/plain, such as info,storage_adapter=debug";
            return text(StatusCode::UNSUPPORTED_MEDIA_TYPE, fix);
        }
        let sent = request.take_body().into_bytes_limit(LONGEST_FILTER).await;
        let Some(filter) = sent.ok().and_then(|sent| String::from_utf8(sent.into()).ok()) else {
            let fix = format!("send a filter of at most {LONGEST_FILTER} bytes of UTF-8");
            return text(StatusCode::BAD_REQUEST, &fix);
        };
        match (self.0.set_log_filter)(filter.trim()) {
            Ok(()) => {
                tracing::info!(filter = filter.trim(), "the log filter was changed");
                StatusCode::NO_CONTENT.into()
            }
            Err(reason) => text(StatusCode::BAD_REQUEST, &reason),
        }
    }
}

fn text(status: StatusCode, text: &str) -> Response {
    let response = Response::builder().status(status).content_type("text/plain; charset=utf-8");
    response.body(format!("{text}\n"))
}

impl Endpoint for Admin {
    type Output = Response;

    async fn call(&self, mut request: Request) -> Result<Response> {
        let path = request.uri().path().to_owned();
        let allowed = match &*path {
            "/metrics" | "/healthz" | "/readyz" | "/startupz" => "GET, HEAD",
            "/log" => "PUT",
            _ => {
                let paths = "not found; use /metrics, /healthz, /readyz, /startupz or /log";
                return Ok(text(StatusCode::NOT_FOUND, paths));
            }
        };
        if !allowed.split(", ").any(|method| request.method() == method) {
            let mut response =
                text(StatusCode::METHOD_NOT_ALLOWED, &format!("this path supports {allowed}"));
            response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
            return Ok(response);
        }
        Ok(match &*path {
            "/metrics" => self.metrics(&request).await,
            "/readyz" => self.readiness(&mut request).await,
            "/startupz" => self.startup(),
            "/log" => self.set_log_filter(request).await,
            _ => text(StatusCode::OK, "ok"),
        })
    }
}
