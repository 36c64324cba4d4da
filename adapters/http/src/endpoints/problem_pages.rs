//! Pages that explain problems and link relations, as HTML or HAL.

use std::sync::Arc;

use poem::http::Method;
use poem::{Request, Response};
use serde_json::{Value, json};

use crate::base_url::BaseUrl;
use crate::endpoints::{content, handler};
use crate::explorer::Explorer;
use crate::headers::media_type::{MediaType, PAGE_TYPES};
use crate::links;
use crate::middleware::gate::{Asks, Gate};
use crate::middleware::method_router::{MethodRouter, Negotiated};
use crate::problem::{Result, kinds};

const PROBLEMS: &str = "/problems";

/// The subject of a page.
#[derive(Clone)]
pub enum Subject {
    Problems,
    Problem(&'static kinds::ProblemKind),
    Relation(&'static str, Arc<str>),
}

type Page = (Arc<Explorer>, Subject, Arc<str>);

async fn page((explorer, subject, hal): Page, request: Request) -> Result<Response> {
    if Negotiated::of(&request) != MediaType::HTML {
        return content::answer(&request, hal.to_string());
    }
    content::answer(&request, explorer.explanation(&request, &subject)?)
}

pub fn all(gate: &Arc<Gate>, explorer: &Arc<Explorer>) -> Vec<(String, MethodRouter)> {
    let base_url = &gate.base_url;
    let mut pages = vec![(PROBLEMS.to_owned(), Subject::Problems, list(base_url))];
    for kind in kinds::ALL {
        let path = format!("{PROBLEMS}/{}", kind.code);
        let title = format!("{} — {}", kind.status.as_u16(), kind.title);
        let facts = json!({ "code": kind.code, "status": kind.status.as_u16() });
        let hal = explanation(base_url, &path, &title, kind.explanation, &facts);
        pages.push((path, Subject::Problem(kind), hal));
    }
    for (name, text) in links::explained() {
        let path = format!("/rels/{name}");
        let title = format!("Link relation “{name}”");
        let hal = explanation(base_url, &path, &title, &text, &json!({ "relation": name }));
        pages.push((path, Subject::Relation(name, text.into()), hal));
    }
    let route = |(path, subject, hal): (String, Subject, Value)| {
        let page = handler((Arc::clone(explorer), subject, hal.to_string().into()), page);
        let methods = [(Method::GET, Asks::Anybody, page)];
        (path, MethodRouter::new(gate, PAGE_TYPES.to_vec(), methods))
    };
    pages.into_iter().map(route).collect()
}

fn explanation(base_url: &BaseUrl, path: &str, title: &str, text: &str, facts: &Value) -> Value {
    let own = format!("{base_url}{path}");
    json!({ "title": title, "description": text, "facts": facts, "_links": { "self": { "href": own } } })
}

fn list(base_url: &BaseUrl) -> Value {
    let item = |kind: &kinds::ProblemKind| {
        let href = format!("{base_url}{PROBLEMS}/{}", kind.code);
        json!({ "href": href, "name": kind.code, "title": kind.title })
    };
    let own = format!("{base_url}{PROBLEMS}");
    let items: Vec<_> = kinds::ALL.iter().map(item).collect();
    json!({ "title": "Problems", "_links": { "self": { "href": own }, "item": items } })
}
