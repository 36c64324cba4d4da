//! Pages that explain: a problem, a link relation. For a browser as HTML, for a program as HAL.

use std::sync::{Arc, LazyLock};

use poem::endpoint::BoxEndpoint;
use poem::http::{HeaderValue, Method, StatusCode};
use poem::{Endpoint, EndpointExt, Request, Response, Result};
use serde_json::json;

use crate::base_url::BaseUrl;
use crate::content_security_policy;
use crate::group::Group;
use crate::groups::for_each_group;
use crate::media::MediaType;
use crate::path_endpoint::{Negotiated, PathEndpoint};
use crate::problem::{ProblemKind, kinds};

/// The types pages are served in: programs that do not say get HAL, browsers ask for HTML.
pub const PAGE_TYPES: [MediaType; 3] = [MediaType::HAL, MediaType::JSON, MediaType::HTML];

/// Our own link relations and what they mean; registered ones are IANA's to explain.
pub const RELATIONS: &[(&str, &str)] = &[
    (
        "program",
        "From a proposal to the programme its `program_id` names. It is there while the programme is.",
    ),
    (
        "lib",
        "From a proposal to the library items that belong to it; from the entry point to all library items.",
    ),
    ("proposal", "From a library item to the proposal it belongs to."),
    (
        "continues",
        "From an item to the one it continues: a second phase, a resubmission, an amended cash programme. Made by POST on the item to continue.",
    ),
    (
        "diff",
        "From a version of an item to what differs between it and the one before: a JSON Patch (RFC 6902).",
    ),
    ("group", "From a business rule to the collection it is about."),
    ("rules", "From the entry point to the business rules that are in force."),
    ("changes", "From the entry point to the log of every write of every group."),
    ("continued-by", "From an item to those that continue it, oldest first: always a list."),
];

struct Page {
    base_url: Arc<BaseUrl>,
    path: String,
    title: String,
    text: &'static str,
    facts: serde_json::Value,
}

impl Endpoint for Page {
    type Output = Response;

    async fn call(&self, request: Request) -> Result<Response> {
        let media = Negotiated::of(&request);
        let body = if media == MediaType::HTML { self.html() } else { self.hal().to_string() };
        Ok(Response::builder().content_type(media.header().to_str().unwrap_or_default()).body(body))
    }
}

impl Page {
    fn hal(&self) -> serde_json::Value {
        json!({ "title": self.title, "description": self.text, "facts": self.facts, "_links": { "self": { "href": format!("{}{}", self.base_url, self.path) } } })
    }

    fn html(&self) -> String {
        html(&self.base_url, &self.title, self.text)
    }
}

const STYLE: &str = "body{font:16px/1.5 sans-serif;max-width:42em;margin:3em auto;padding:0 1em}";

/// A page with a heading and a text.
#[must_use]
pub fn html(base_url: &BaseUrl, title: &str, text: &str) -> String {
    let (title, text) = (escape(title), escape(text));
    format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title><style>{STYLE}</style></head><body><h1>{title}</h1><p>{text}</p><p><a href=\"{base_url}/docs\">All operations</a></p></body></html>"
    )
}

/// The Content-Security-Policy of these pages: nothing runs, and nothing is loaded but the icon.
#[must_use]
pub fn policy() -> HeaderValue {
    static POLICY: LazyLock<HeaderValue> =
        LazyLock::new(|| content_security_policy::of(&format!("<style>{STYLE}</style>"), ""));
    POLICY.clone()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A path that serves GET in the types of a page.
pub fn get(base_url: &Arc<BaseUrl>, endpoint: BoxEndpoint<'static>) -> PathEndpoint {
    PathEndpoint::new(Arc::clone(base_url), PAGE_TYPES.to_vec(), [(Method::GET, endpoint)])
}

/// The pages of all problems and relations, with their paths.
pub fn all(base_url: &Arc<BaseUrl>) -> Vec<(String, PathEndpoint)> {
    let problems = kinds::ALL.iter().map(|kind| problem_page(base_url, kind));
    let relations = RELATIONS
        .iter()
        .copied()
        .chain(collections())
        .map(|(name, text)| relation_page(base_url, name, text));
    problems.chain(relations).map(|page| (page.path.clone(), get(base_url, page.boxed()))).collect()
}

/// The entry point links each collection under its group's name.
fn collections() -> Vec<(&'static str, &'static str)> {
    macro_rules! pages_of_groups {
        ($($group:path,)*) => {
            [$((<$group>::NAME, <$group>::DESCRIPTION, <$group>::OWNER.is_none())),*]
        };
    }
    let groups = for_each_group!(pages_of_groups).into_iter();
    let unexplained = groups.filter(|(name, _, is_linked)| {
        *is_linked && RELATIONS.iter().all(|(known, _)| known != name)
    });
    unexplained.map(|(name, description, _)| (name, description)).collect()
}

fn relation_page(base_url: &Arc<BaseUrl>, name: &str, text: &'static str) -> Page {
    let (path, title) = (format!("/rels/{name}"), format!("Link relation “{name}”"));
    Page { base_url: Arc::clone(base_url), path, title, text, facts: json!({ "relation": name }) }
}

fn problem_page(base_url: &Arc<BaseUrl>, kind: &ProblemKind) -> Page {
    let ProblemKind { code, status, title, explanation } = *kind;
    Page {
        base_url: Arc::clone(base_url),
        path: format!("/problems/{code}"),
        title: format!("{} — {title}", StatusCode::as_u16(&status)),
        text: explanation,
        facts: json!({ "code": code, "status": status.as_u16() }),
    }
}
