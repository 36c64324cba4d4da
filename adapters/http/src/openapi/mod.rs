//! The `OpenAPI` document: what each group contributes, and how the whole is finished.
//!
//! poem-openapi collects the paths and schemas of every [`GroupApi`](crate::group_api::GroupApi)
//! and writes the document. Examples, query parameters, links between operations and a few schema
//! keywords are beyond its model; [`mod@finish`] adds them once, at start.

mod change_paths;
mod examples;
mod filters;
mod finish;
mod operations;
mod query_parameters;
mod rules;
mod schemas;
mod service_paths;

pub use examples::members as example_members;
pub use finish::finish;
pub use operations::paths;
pub use rules::add as add_rules;
pub use schemas::register;
pub use service_paths::ServicePaths;

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
