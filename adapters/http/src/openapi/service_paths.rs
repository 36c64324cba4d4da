//! The service's own paths in the document: the entry point and the health checks.

use std::collections::HashMap;

use application::Sequence;
use domain::Collection;
use poem::endpoint::BoxEndpoint;
use poem::http::Method;
use poem_openapi::OpenApi;
use poem_openapi::registry::{
    MetaApi, MetaMediaType, MetaOperation, MetaOperationParam, MetaParamIn, MetaPath, MetaResponse, MetaResponses, MetaSchema,
    MetaSchemaRef, MetaTag, Registry,
};

use super::operations::{header, meaning, parameter};
use super::schemas::PROBLEM;
use crate::changes;
use crate::media::MediaType;
use crate::query::{DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, change_cursor};

const TAG: &str = "service";

const CHANGES: &str = "Follow `_links.next`: it is on every page, also on an empty one, so a reader simply keeps following it. Nothing is missed and nothing comes twice, however many write at once. With `group`, a page may be empty although there is more. `kind` is `created`, `replaced`, `patched` or `deleted`; a deletion takes the next version.";

/// Documents paths that are mounted elsewhere.
pub struct ServicePaths;

impl OpenApi for ServicePaths {
    fn meta() -> Vec<MetaApi> {
        let own: [(_, _, _, _, &[u16]); 4] = [
            ("/", "getEntryPoint", "The entry point: links every collection", &[MediaType::HAL, MediaType::JSON][..], &[]),
            (
                changes::PATH,
                "listChanges",
                "Every write of every group, in the order of the commits",
                &[MediaType::HAL, MediaType::JSON],
                &[304, 400, 414, 503],
            ),
            ("/healthz", "getHealth", "Whether the process lives", &[MediaType::JSON], &[]),
            ("/readyz", "getReadiness", "Whether the service can do its work: asks the store", &[MediaType::JSON], &[503]),
        ];
        let paths = own.map(|(path, id, summary, types, others)| {
            let mut operation = operation(id, summary, types, others);
            if path == changes::PATH {
                operation.description = Some(CHANGES);
                operation.params = changes_parameters();
            }
            MetaPath { path: path.to_owned(), operations: vec![operation] }
        });
        vec![MetaApi { paths: paths.into() }]
    }

    fn register(registry: &mut Registry) {
        registry.create_tag(MetaTag { name: TAG, description: Some("The service itself."), external_docs: None });
    }

    fn add_routes(self, _route_table: &mut HashMap<String, HashMap<Method, BoxEndpoint<'static>>>) {}
}

fn changes_parameters() -> Vec<MetaOperationParam> {
    let schema = |example: serde_json::Value| MetaSchema { example: Some(example), ..MetaSchema::new("string") };
    let cursor = MetaSchema { pattern: Some("^[A-Za-z0-9_-]+$".to_owned()), ..schema(change_cursor::write(Sequence(0)).into()) };
    let groups = Collection::ALL.map(|collection| collection.name().into()).to_vec();
    let group = MetaSchema { enum_items: groups, ..schema(Collection::PROPOSALS.name().into()) };
    let size = MetaSchema {
        minimum: Some(1.0),
        #[expect(clippy::cast_precision_loss, reason = "a small constant")]
        maximum: Some(MAX_PAGE_SIZE as f64),
        default: Some(DEFAULT_PAGE_SIZE.into()),
        example: Some(100.into()),
        ..MetaSchema::new("integer")
    };
    vec![
        parameter("after", MetaParamIn::Query, "The cursor of a change: those after it. Without it, from the first on.", cursor),
        parameter("group", MetaParamIn::Query, "Changes of this group alone.", group),
        parameter("page_size", MetaParamIn::Query, "Most changes on a page.", size),
    ]
}

fn operation(id: &'static str, summary: &'static str, types: &[MediaType], others: &[u16]) -> MetaOperation {
    let any_object = || MetaSchemaRef::Inline(Box::new(MetaSchema::new("object")));
    let problem = || MetaSchemaRef::Reference(PROBLEM.to_owned());
    let mut responses = vec![response(200, types, any_object)];
    responses.push(response(406, &[MediaType::JSON], problem));
    for status in others {
        let types = if matches!(status, 304 | 414) { &[] } else { types };
        responses.push(response(*status, types, problem));
    }
    MetaOperation {
        method: Method::GET,
        tags: vec![TAG],
        summary: Some(summary),
        description: None,
        external_docs: None,
        params: Vec::new(),
        request: None,
        responses: MetaResponses { responses },
        deprecated: false,
        security: Vec::new(),
        operation_id: Some(id),
        code_samples: Vec::new(),
    }
}

fn response(status: u16, types: &[MediaType], schema: impl Fn() -> MetaSchemaRef) -> MetaResponse {
    let content = types.iter().map(|media| MetaMediaType { content_type: media.name(), schema: schema() });
    MetaResponse {
        description: meaning(status),
        status: Some(status),
        status_range: None,
        content: content.collect(),
        headers: vec![header("Allow", "The methods this path serves.")],
    }
}
