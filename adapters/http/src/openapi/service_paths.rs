//! The service's own paths: the entry point and the health checks.

use poem::http::Method;
use poem_openapi::registry::{
    MetaMediaType, MetaOperation, MetaPath, MetaResponse, MetaResponses, MetaSchema, MetaSchemaRef,
};

use super::operations::{header, meaning};
use super::schemas::{PROBLEM, inline, reference};
use crate::headers::media_type::MediaType;

/// The tag of the service's own paths.
pub const TAG: &str = "service";

/// The entry point and the health checks.
pub fn paths() -> [MetaPath; 3] {
    let entry_point = inline(MetaSchema::new("object"));
    let health = reference("Health");
    let own: [(_, _, _, _, _, &[u16]); 3] = [
        (
            "/",
            "getEntryPoint",
            "The entry point: links every collection",
            &[MediaType::HAL, MediaType::JSON][..],
            &entry_point,
            &[],
        ),
        ("/healthz", "getHealth", "Whether the process lives", &[MediaType::JSON], &health, &[]),
        (
            "/readyz",
            "getReadiness",
            "Whether the service can do its work: checks the store",
            &[MediaType::JSON],
            &health,
            &[503],
        ),
    ];
    own.map(|(path, id, summary, types, schema, others)| {
        let operation = operation(id, summary, types, schema, others);
        MetaPath { path: path.to_owned(), operations: vec![operation] }
    })
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
