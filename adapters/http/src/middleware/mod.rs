//! The layers that a request passes on its way to an endpoint, and its response on the way back.

pub mod access_log;
pub mod audit_log;
pub mod compression;
pub mod cors;
pub mod gate;
pub mod known_paths;
pub mod method_router;
pub mod rate_limit;
pub mod request_context;
mod seen_callers;
pub mod sites;
pub mod trace;
