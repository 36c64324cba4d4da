//! Client of the collector.

use std::error::Error;
use std::iter::successors;
use std::time::Duration;

use async_trait::async_trait;
use hyper_rustls::HttpsConnectorBuilder;
use opentelemetry_http::hyper::HyperClient;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};

/// Timeout of the collector's answer. New spans wait in the queue meanwhile.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Builds the exporter for a URL. Environment variables of OpenTelemetry set headers and
/// compression.
pub fn exporter(url: &str) -> Result<SpanExporter, String> {
    let builder = SpanExporter::builder().with_http();
    let builder = builder.with_endpoint(url).with_protocol(Protocol::HttpBinary);
    let builder = if url.starts_with("https:") {
        let connector = HttpsConnectorBuilder::new()
            .with_provider_and_native_roots(rustls::crypto::ring::default_provider())
            .map_err(|error| format!("cannot read the system certificates: {error}"))?
            .https_only()
            .enable_http1()
            .build();
        builder.with_http_client(LoggingClient(HyperClient::new(connector, ANSWER_TIMEOUT, None)))
    } else {
        builder.with_http_client(LoggingClient(HyperClient::with_default_connector(
            ANSWER_TIMEOUT,
            None,
        )))
    };
    builder.build().map_err(|error| error.to_string())
}

/// Client that logs the reason of a failure, which the exporter discards.
#[derive(Debug)]
struct LoggingClient<C>(C);

#[async_trait]
impl<C: HttpClient> HttpClient for LoggingClient<C> {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let Self(client) = self;
        client.send_bytes(request).await.inspect_err(|error| {
            let causes =
                successors(Some(&**error as &(dyn Error + 'static)), |error| (**error).source());
            let causes: Vec<_> = causes.map(ToString::to_string).collect();
            tracing::debug!(reason = causes.join(": "), "no response from the trace collector");
        })
    }
}
