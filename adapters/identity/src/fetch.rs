//! Fetches documents of issuers over HTTP, within limits of time and size.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::header::{ACCEPT, CACHE_CONTROL, HeaderMap, USER_AGENT};
use hyper::{Request, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

const MOST_BYTES: usize = 256 << 10;
const LONGEST_CONNECT: Duration = Duration::from_secs(5);
/// Timeout from the connection to the last byte.
const LONGEST_FETCH: Duration = Duration::from_secs(10);

pub(crate) struct Fetcher {
    client: Client<HttpsConnector<HttpConnector>, Empty<Bytes>>,
}

pub(crate) struct Document {
    pub bytes: Bytes,
    pub max_age: Option<Duration>,
}

impl Fetcher {
    pub fn new(authorities: &[CertificateDer<'static>]) -> Result<Self, rustls::Error> {
        let mut roots = RootCertStore::empty();
        // A system without certificates still reaches issuers on this machine, or with their own.
        let system = rustls_native_certs::load_native_certs().certs;
        roots.add_parsable_certificates(system.into_iter().chain(authorities.iter().cloned()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut tcp = HttpConnector::new();
        tcp.set_connect_timeout(Some(LONGEST_CONNECT));
        tcp.enforce_http(false);
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1();
        // Fetches are minutes apart, so the server has closed an idle connection by then.
        let client = Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(0)
            .build(connector.wrap_connector(tcp));
        Ok(Self { client })
    }

    /// Fetches a document. Does not follow redirects: the issuer names the location of its keys.
    pub async fn get(&self, url: &str) -> Result<Document, String> {
        let uri = address(url)?;
        tokio::time::timeout(LONGEST_FETCH, self.get_at(uri))
            .await
            .map_err(|_| format!("{url} took longer than {} s", LONGEST_FETCH.as_secs()))?
            .map_err(|reason| format!("{url} {reason}"))
    }

    async fn get_at(&self, uri: Uri) -> Result<Document, String> {
        let request = Request::get(uri)
            .header(ACCEPT, "application/json, application/jwk-set+json")
            .header(USER_AGENT, "proposal-service")
            .body(Empty::new())
            .map_err(|error| format!("cannot be requested: {error}"))?;
        let response = self.client.request(request).await;
        let response =
            response.map_err(|error| format!("cannot be reached: {}", causes(&error)))?;
        let status = response.status();
        if status != StatusCode::OK {
            return Err(format!("answered {status}"));
        }
        let max_age = max_age(response.headers());
        let body = Limited::new(response.into_body(), MOST_BYTES).collect().await;
        let body = body.map_err(|error| format!("could not be read: {error}"))?;
        Ok(Document { bytes: body.to_bytes(), max_age })
    }
}

/// Parses the URL of keys. Refuses plain HTTP to other machines: an attacker who changes the
/// response can sign tokens.
pub(crate) fn address(url: &str) -> Result<Uri, String> {
    let uri: Uri =
        url.parse().map_err(|_| "is not a URL; write one such as https://id.example".to_owned())?;
    let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let is_loopback = host == "localhost"
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    match uri.scheme_str() {
        Some("https") if !host.is_empty() => Ok(uri),
        Some("http") if is_loopback => Ok(uri),
        Some("http") => Err("is not protected in transit; write https".to_owned()),
        _ => Err("is not an https URL; write one such as https://id.example".to_owned()),
    }
}

fn max_age(headers: &HeaderMap) -> Option<Duration> {
    let header = headers.get(CACHE_CONTROL)?.to_str().ok()?;
    let mut directives = header.split(',').filter_map(|directive| directive.split_once('='));
    let (_, seconds) = directives.find(|(name, _)| name.trim().eq_ignore_ascii_case("max-age"))?;
    Some(Duration::from_secs(seconds.trim().trim_matches('"').parse().ok()?))
}

/// Formats an error with its causes: the outermost error of a connection gives no reason.
fn causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
