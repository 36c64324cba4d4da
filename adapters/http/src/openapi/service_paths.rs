//! The service's own paths in the document: the entry point and the health checks.

use std::collections::HashMap;

use poem::endpoint::BoxEndpoint;
use poem::http::Method;
use poem_openapi::OpenApi;
use poem_openapi::registry::{
    MetaApi, MetaMediaType, MetaOperation, MetaPath, MetaResponse, MetaResponses, MetaSchema,
    MetaSchemaRef, MetaTag, Registry,
};

use super::operations::{header, meaning};
use super::schemas::{PROBLEM, inline, reference};
use super::{change_paths, rules};
use crate::media::MediaType;

const TAG: &str = "service";

/// Documents paths that are mounted elsewhere.
pub struct ServicePaths;

impl OpenApi for ServicePaths {
    fn meta() -> Vec<MetaApi> {
        let own: [(_, _, _, _, &[u16]); 3] = [
            (
                "/",
                "getEntryPoint",
                "The entry point: links every collection",
                &[MediaType::HAL, MediaType::JSON][..],
                &[],
            ),
            ("/healthz", "getHealth", "Whether the process lives", &[MediaType::JSON], &[]),
            (
                "/readyz",
                "getReadiness",
                "Whether the service can do its work: asks the store",
                &[MediaType::JSON],
                &[503],
            ),
        ];
        let own = own.map(|(path, id, summary, types, others)| {
            let operation =
                operation(id, summary, types, &inline(MetaSchema::new("object")), others);
            MetaPath { path: path.to_owned(), operations: vec![operation] }
        });
        vec![MetaApi {
            paths: own.into_iter().chain(change_paths::paths()).chain(rules::paths()).collect(),
        }]
    }

    fn register(registry: &mut Registry) {
        registry.create_tag(MetaTag {
            name: TAG,
            description: Some("The service itself."),
            external_docs: None,
        });
        change_paths::register(registry);
        rules::register(registry);
    }

    fn add_routes(self, _route_table: &mut HashMap<String, HashMap<Method, BoxEndpoint<'static>>>) {
    }
}

/// A GET that shows something of this schema, and may have other statuses.
pub fn operation(
    id: &'static str,
    summary: &'static str,
    types: &[MediaType],
    shown: &MetaSchemaRef,
    others: &[u16],
) -> MetaOperation {
    let problem = reference(PROBLEM);
    let mut responses = vec![response(200, types, shown)];
    responses.push(response(406, &[MediaType::JSON], &problem));
    // A problem is told in JSON where the path itself speaks something else.
    let types: Vec<_> =
        types.iter().map(|media| if media.is_json() { *media } else { MediaType::JSON }).collect();
    for status in others {
        let types = if matches!(status, 304 | 414) { &[] } else { &types[..] };
        responses.push(response(*status, types, &problem));
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

fn response(status: u16, types: &[MediaType], schema: &MetaSchemaRef) -> MetaResponse {
    let content = types
        .iter()
        .map(|media| MetaMediaType { content_type: media.name(), schema: schema.clone() });
    MetaResponse {
        description: meaning(status),
        status: Some(status),
        status_range: None,
        content: content.collect(),
        headers: vec![header("Allow", "The methods this path serves.")],
    }
}
