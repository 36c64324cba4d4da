//! Options of monitoring.

use std::net::SocketAddr;

use clap::{Args, ValueEnum};
use url::Url;

use super::listen_address;
use crate::commands::error::{CommandError, Result};

/// Metrics, probes, the access log and traces.
#[derive(Args, Debug)]
#[command(next_help_heading = "Monitoring")]
pub struct MonitoringOptions {
    /// Address for /metrics, /healthz, /readyz, /startupz and /log; anyone who can reach it can read and set them [default: none]
    #[arg(long, env = "PROPOSAL_SERVICE_ADMIN_LISTEN", value_name = "ADDR:PORT", value_parser = listen_address)]
    pub admin_listen: Option<SocketAddr>,
    /// Log each request to standard error [default: none]
    #[arg(long, env = "PROPOSAL_SERVICE_ACCESS_LOG", value_name = "FORMAT", value_enum)]
    pub access_log: Option<AccessLogFormat>,
    /// URL of the trace collector (OTLP over HTTP); /v1/traces is appended [default: none]
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT", value_name = "URL", hide_env_values = true)]
    pub otlp_endpoint: Option<String>,
    /// Share of requests to trace, from 0 to 1; the sampling decision of an incoming trace takes precedence
    #[arg(long, env = "PROPOSAL_SERVICE_TRACE_SAMPLE", value_name = "SHARE", default_value_t = 0.01, value_parser = share)]
    pub trace_sample: f64,
}

impl MonitoringOptions {
    /// Returns the URL for traces. An empty variable counts as unset, as in OpenTelemetry.
    pub fn traces_url(&self) -> Result<Option<String>> {
        let endpoint = self.otlp_endpoint.as_deref().filter(|endpoint| !endpoint.is_empty());
        let url = endpoint.map(|endpoint| traces_url(endpoint).ok_or_else(|| otlp_error(HOW)));
        url.transpose()
    }
}

const HOW: &str = "give the http or https URL of a collector without user, query and fragment, such as http://127.0.0.1:4318; \
                   put credentials and other headers into OTEL_EXPORTER_OTLP_HEADERS";

/// The error omits the URL, which may contain secrets.
pub fn otlp_error(reason: &str) -> CommandError {
    CommandError::Usage(format!("--otlp-endpoint (or OTEL_EXPORTER_OTLP_ENDPOINT): {reason}"))
}

fn traces_url(endpoint: &str) -> Option<String> {
    let url = Url::parse(endpoint).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let is_plain = url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    is_plain.then(|| format!("{}/v1/traces", url.as_str().trim_end_matches('/')))
}

fn share(text: &str) -> Result<f64, &'static str> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or("give a number from 0 (no requests) to 1 (all requests), such as 0.01")
}

/// The form of the access log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AccessLogFormat {
    /// The Common Log Format, followed by the time taken and the request id
    #[value(name = "text")]
    Plain,
    /// An object on every line
    Json,
}

#[cfg(test)]
mod tests {
    use super::{share, traces_url};

    #[test]
    fn traces_are_sent_below_the_endpoint() {
        for (endpoint, url) in [
            ("http://localhost:4318", Some("http://localhost:4318/v1/traces")),
            ("HTTPS://Example.org/", Some("https://example.org/v1/traces")),
            ("http://[::1]:1/otlp/", Some("http://[::1]:1/otlp/v1/traces")),
            ("http://a/otlp/v1/traces", Some("http://a/otlp/v1/traces/v1/traces")),
            ("http://me:secret@a", None),
            ("http://a/?key=secret", None),
            ("http://a/#b", None),
            ("grpc://a:4317", None),
            ("localhost:4318", None),
            ("http://", None),
        ] {
            assert_eq!(traces_url(endpoint).as_deref(), url, "{endpoint}");
        }
    }

    #[test]
    fn a_share_is_a_number_from_0_to_1() {
        assert_eq!((share("0"), share("1.0"), share("1e-3")), (Ok(0.0), Ok(1.0), Ok(0.001)));
        for text in ["-0.1", "1.1", "NaN", "inf", "1%", ""] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}
