//! The `OpenAPI` document.
//!
//! poem-openapi writes it from the table of groups (`operations`), the query parser (`parameters`),
//! the table of collections (`schemas`) and Rust types (`fixed`). [`mod@finish`] adds the rest.

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

pub use finish::{add_labels, add_rules, finish};
pub use security::add_security;

use crate::groups::GROUPS;

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
