//! The service's own paths in the document: the entry point and the health checks.

use std::collections::HashMap;

use poem::endpoint::BoxEndpoint;
use poem::http::Method;
use poem_openapi::OpenApi;
use poem_openapi::registry::{
    MetaApi, MetaMediaType, MetaOperation, MetaPath, MetaResponse, MetaResponses, MetaSchema, MetaSchemaRef, MetaTag, Registry,
};

use super::operations::{header, meaning};
use super::schemas::PROBLEM;
use crate::media::MediaType;

const TAG: &str = "service";

/// Documents paths that are mounted elsewhere.
pub struct ServicePaths;

impl OpenApi for ServicePaths {
    fn meta() -> Vec<MetaApi> {
        let own = [
            ("/", "getEntryPoint", "The entry point: links every collection", &[MediaType::HAL, MediaType::JSON][..], None),
            ("/healthz", "getHealth", "Whether the process lives", &[MediaType::JSON], None),
            ("/readyz", "getReadiness", "Whether the service can do its work: asks the store", &[MediaType::JSON], Some(503)),
        ];
        let paths = own.map(|(path, id, summary, types, failure)| MetaPath {
            path: path.to_owned(),
            operations: vec![operation(id, summary, types, failure)],
        });
        vec![MetaApi { paths: paths.into() }]
    }

    fn register(registry: &mut Registry) {
        registry.create_tag(MetaTag { name: TAG, description: Some("The service itself."), external_docs: None });
    }

    fn add_routes(self, _route_table: &mut HashMap<String, HashMap<Method, BoxEndpoint<'static>>>) {}
}

fn operation(id: &'static str, summary: &'static str, types: &[MediaType], failure: Option<u16>) -> MetaOperation {
    let any_object = || MetaSchemaRef::Inline(Box::new(MetaSchema::new("object")));
    let problem = || MetaSchemaRef::Reference(PROBLEM.to_owned());
    let mut responses = vec![response(200, types, any_object)];
    responses.push(response(406, &[MediaType::JSON], problem));
    responses.extend(failure.map(|status| response(status, &[MediaType::JSON], problem)));
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
