//! The HTTP adapter: the only crate that knows HTTP.
//!
//! A request passes [`server`] (connections, timeouts), [`frame`] (request id, span, compression),
//! [`path_endpoint`] (method, negotiation, Allow) and [`group_api`] (body, use case,
//! representation), and the same way back up. What a group is made of stands in [`groups`]: **a new
//! group is one `impl Group` there.** Errors become responses in [`problem`] alone, items become
//! HAL in [`representation`] alone, and [`openapi`] writes the document from the same constants.

pub mod base_url;
mod body;
mod budget;
mod change_feed;
mod change_stream;
mod changes;
mod compression;
mod content_security_policy;
mod cors;
mod demo;
mod documentation;
pub mod entity_tag;
mod entry_point;
mod frame;
pub mod group;
pub mod group_api;
pub mod groups;
mod health;
mod idempotency_key;
pub mod media;
pub mod openapi;
mod pages;
mod path_endpoint;
pub mod problem;
mod quality_list;
pub mod query;
pub mod representation;
mod rules;
pub mod server;
mod service;

pub use base_url::{BaseUrl, InvalidBaseUrl};
pub use demo::demonstration_items;
pub use server::{Drained, ServerLimits, serve};
pub use service::{HttpOptions, openapi_document, service};
