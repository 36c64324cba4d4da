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
mod rule_trial;
mod schemas;
mod security;
mod service;
mod transfers;
pub mod values;

use std::collections::HashMap;

use poem::endpoint::BoxEndpoint;
use poem::http::Method;
use poem_openapi::OpenApi;
use poem_openapi::registry::{MetaApi, MetaTag, Registry};

pub use finish::{add_rules, finish};
pub use security::add_security;

use crate::groups::GROUPS;

/// Everything the document describes; the endpoints are mounted elsewhere.
pub struct Documented;

impl OpenApi for Documented {
    fn meta() -> Vec<MetaApi> {
        let own = service::paths().into_iter().chain(transfers::paths());
        let service = MetaApi { paths: own.collect() };
        std::iter::once(service).chain(GROUPS.iter().map(operations::paths)).collect()
    }

    fn register(registry: &mut Registry) {
        let own = (service::TAG, "The service itself.");
        let groups = GROUPS.iter().map(|group| (group.name, group.description));
        for (name, description) in groups.chain([own]) {
            let description = Some(description);
            registry.create_tag(MetaTag { name, description, external_docs: None });
        }
        fixed::register(registry);
        service::register(registry);
        rule_trial::register(registry);
        transfers::register(registry);
        filters::register(registry);
        registry.schemas.extend(GROUPS.iter().flat_map(schemas::of));
    }

    fn add_routes(self, _table: &mut HashMap<String, HashMap<Method, BoxEndpoint<'static>>>) {}
}
