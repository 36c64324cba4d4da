//! The `OpenAPI` document.
//!
//! poem-openapi writes it from [`Documented`]: the operations follow from the table of groups
//! (`operations`), their parameters from what the parser of queries knows (`parameters`), the
//! schemas of their bodies from the table of collections (`schemas`), and what is the same for all
//! groups is Rust types (`fixed`). What poem-openapi's model cannot say is added afterwards, in
//! [`mod@finish`] alone.

mod examples;
mod filters;
mod finish;
mod fixed;
mod model;
mod operations;
mod parameters;
mod responses;
mod rule_trial;
mod schemas;
mod security;
mod service;
pub mod values;

use std::collections::HashMap;

use poem::endpoint::BoxEndpoint;
use poem::http::Method;
use poem_openapi::OpenApi;
use poem_openapi::registry::{MetaApi, Registry};

pub use finish::{add_rules, finish};
pub use security::add_security;

use crate::groups::GROUPS;

/// Everything the document describes; the endpoints are mounted elsewhere.
pub struct Documented;

impl OpenApi for Documented {
    fn meta() -> Vec<MetaApi> {
        let service = MetaApi { paths: service::paths() };
        std::iter::once(service).chain(GROUPS.iter().map(operations::paths)).collect()
    }

    fn register(registry: &mut Registry) {
        fixed::register(registry);
        rule_trial::register(registry);
        service::register(registry);
        filters::register(registry);
        registry.schemas.extend(GROUPS.iter().flat_map(schemas::of));
    }

    fn add_routes(self, _table: &mut HashMap<String, HashMap<Method, BoxEndpoint<'static>>>) {}
}
