//! Options about what monitoring sees of a service.

use std::net::SocketAddr;

use clap::{Args, ValueEnum};

use super::listen_address;

/// Metrics, probes and the access log.
#[derive(Args, Debug)]
#[command(next_help_heading = "Monitoring")]
pub struct MonitoringOptions {
    /// Where /metrics, /healthz, /readyz, /startupz and /log are served; whoever reaches it may read and set them [default: nowhere]
    #[arg(long, env = "PROPOSAL_SERVICE_ADMIN_LISTEN", value_name = "ADDR:PORT", value_parser = listen_address)]
    pub admin_listen: Option<SocketAddr>,
    /// Write a line for each request to standard error [default: none]
    #[arg(long, env = "PROPOSAL_SERVICE_ACCESS_LOG", value_name = "FORMAT", value_enum)]
    pub access_log: Option<AccessLogFormat>,
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
