//! `/docs`: the operations as a list. Swagger UI replaces the list when it has loaded.

use askama::Template;
use poem::Request;
use serde_json::Value;

use crate::endpoints::documentation::StaticContent;
use crate::explorer::Explorer;
use crate::explorer::links::ExplorerLinks;
use crate::explorer::page::{Layout, render};
use crate::headers::content_policy::RECEIVER_POLICY;
use crate::headers::media_type::MediaType;
use crate::problem::Result;

#[derive(Template)]
#[template(path = "explorer/reference.html")]
struct ReferencePage<'a> {
    layout: Layout<'a>,
    groups: Vec<OperationGroup<'a>>,
    server: &'a str,
}

/// The redirect page for authorization codes.
#[derive(Template)]
#[template(path = "receiver.html")]
struct ReceiverPage<'a> {
    links: &'a ExplorerLinks,
}

pub struct OperationGroup<'a> {
    pub name: &'a str,
    pub description: &'a str,
    pub anchor: String,
    pub operations: Vec<OperationRow<'a>>,
}

pub struct OperationRow<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub summary: &'a str,
    pub anchor: String,
}

impl Explorer {
    pub(in crate::explorer) fn show_reference(&self, request: &Request) -> Result<String> {
        let document = &self.documentation.document;
        let tags = document["tags"].as_array().into_iter().flatten();
        render(&ReferencePage {
            layout: self.layout(request, "Operations", "operations", None),
            groups: tags.map(|tag| group_of(document, tag)).collect(),
            server: self.context.base_url.path(),
        })
    }

    pub fn receiver(&self) -> Result<StaticContent> {
        let page = render(&ReceiverPage { links: &self.links })?;
        Ok(StaticContent::new(MediaType::HTML, page, RECEIVER_POLICY))
    }
}

fn group_of<'a>(document: &'a Value, tag: &'a Value) -> OperationGroup<'a> {
    let name = string(&tag["name"]);
    // The anchors of Swagger UI, so links work before and after it loads.
    let anchor = format!("/{}", name.replace(' ', "%20"));
    let paths = document["paths"].as_object().into_iter().flatten();
    let all = paths.flat_map(|(path, operations)| {
        let operations = operations.as_object().into_iter().flatten();
        operations.map(move |(method, operation)| (path, method, operation))
    });
    let own = all.filter(|(.., operation)| operation["tags"][0] == name);
    let operations = own.map(|(path, method, operation)| OperationRow {
        method,
        path,
        summary: string(&operation["summary"]),
        anchor: format!("{anchor}/{}", string(&operation["operationId"])),
    });
    OperationGroup {
        name,
        description: string(&tag["description"]),
        operations: operations.collect(),
        anchor,
    }
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
