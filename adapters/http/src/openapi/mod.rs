//! The `OpenAPI` document.
//!
//! poem-openapi writes it from [`Documented`]: the operations follow from the table of groups
//! (`operations`), the schemas of their bodies from the table of collections (`schemas`), and what
//! is the same for all groups is Rust types (`fixed`). Examples, query parameters, links between
//! operations and a few keywords are beyond its model; [`mod@finish`] adds them once, at start.

mod change_paths;
mod examples;
mod filters;
mod finish;
mod fixed;
mod operations;
mod query_parameters;
mod rules;
mod schemas;
mod service_paths;

use std::collections::HashMap;

use poem::endpoint::BoxEndpoint;
use poem::http::Method;
use poem_openapi::OpenApi;
use poem_openapi::registry::{MetaApi, MetaTag, Registry};

pub use finish::finish;
pub use rules::add as add_rules;

use crate::groups::GROUPS;

/// Everything the document describes; the endpoints are mounted elsewhere.
pub struct Documented;

impl OpenApi for Documented {
    fn meta() -> Vec<MetaApi> {
        let own = service_paths::paths().into_iter();
        let own = own.chain(change_paths::paths()).chain(rules::paths());
        let own = std::iter::once(MetaApi { paths: own.collect() });
        own.chain(GROUPS.iter().map(operations::paths)).collect()
    }

    fn register(registry: &mut Registry) {
        let tag = |name, description| MetaTag {
            name,
            description: Some(description),
            external_docs: None,
        };
        registry.create_tag(tag(service_paths::TAG, "The service itself."));
        fixed::register(registry);
        change_paths::register(registry);
        for group in GROUPS {
            registry.create_tag(tag(group.name, group.description));
            schemas::register(group, registry);
        }
    }

    fn add_routes(self, _table: &mut HashMap<String, HashMap<Method, BoxEndpoint<'static>>>) {}
}

/// Text that lives as long as the process. poem-openapi's model holds `&'static str`; the document
/// is made once.
fn keep(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// A path with parameters as `OpenAPI` writes them: `{name}` for `:name`.
#[must_use]
pub fn documented_path(path: &str) -> String {
    let segments = path.split('/').map(|segment| match segment.strip_prefix(':') {
        Some(name) => format!("{{{name}}}"),
        None => segment.to_owned(),
    });
    segments.collect::<Vec<_>>().join("/")
}
