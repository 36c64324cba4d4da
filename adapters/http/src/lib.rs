//! The HTTP adapter: the only crate that knows HTTP.
//!
//! A request passes `server` (connections, timeouts), `middleware`, then one of the `endpoints`.
//! `problem` maps errors to responses, `hal` represents items, and `openapi` writes the document
//! from the table `groups::GROUPS`.

mod admin;
mod app;
mod assets;
mod base_url;
mod demo;
mod endpoints;
mod explorer;
mod exposition;
mod groups;
mod hal;
mod hash;
mod headers;
mod links;
mod metrics;
mod middleware;
mod openapi;
mod own_paths;
mod problem;
mod query;
mod request;
mod server;
mod sessions;
mod tables;
mod time;
mod zip_layout;

pub use admin::{Admin, SetLogFilter};
pub use app::{HttpOptions, openapi_document, service};
pub use base_url::{BaseUrl, InvalidBaseUrl};
pub use demo::demonstration_items;
pub use explorer::{Deployment, item_title};
pub use links::RESERVED_RULE_IDS;
pub use metrics::{HttpMetrics, SharedRegistry};
pub use middleware::access_log::{AccessLog, AccessLogWriter};
pub use middleware::audit_log::{AuditLog, AuditLogError};
pub use server::{Drained, ListenError, Port, ServerLimits, affordable_connections, serve};
