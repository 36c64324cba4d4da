//! Pages that explain a problem or a link relation: for a browser as HTML, for a program as HAL.

use std::sync::Arc;

use poem::endpoint::BoxEndpoint;
use poem::http::Method;
use poem::{Endpoint, EndpointExt, Request, Response, Result};
use serde_json::{Value, json};

use crate::base_url::BaseUrl;
use crate::headers::media_type::{MediaType, PAGE_TYPES};
use crate::html;
use crate::links;
use crate::middleware::method_router::{MethodRouter, Negotiated};
use crate::problem::{ProblemKind, kinds};

struct Page {
    base_url: Arc<BaseUrl>,
    path: String,
    title: String,
    text: String,
    facts: Value,
}

impl Endpoint for Page {
    type Output = Response;

    async fn call(&self, request: Request) -> Result<Response> {
        let media = Negotiated::of(&request);
        let body = if media == MediaType::HTML {
            html::page(&self.base_url, &self.title, &self.text)
        } else {
            let own = format!("{}{}", self.base_url, self.path);
            json!({ "title": self.title, "description": self.text, "facts": self.facts, "_links": { "self": { "href": own } } })
                .to_string()
        };
        Ok(Response::builder().content_type(media.header().to_str().unwrap_or_default()).body(body))
    }
}

/// A path that serves GET in the types of a page.
pub fn get(base_url: &Arc<BaseUrl>, endpoint: BoxEndpoint<'static>) -> MethodRouter {
    MethodRouter::new(Arc::clone(base_url), PAGE_TYPES.to_vec(), [(Method::GET, endpoint)])
}

/// The pages of all problems and relations, with their paths.
pub fn all(base_url: &Arc<BaseUrl>) -> Vec<(String, MethodRouter)> {
    let problems = kinds::ALL.iter().map(|kind| problem_page(base_url, kind));
    let links =
        links::explained().into_iter().map(|(name, text)| relation_page(base_url, name, text));
    problems.chain(links).map(|page| (page.path.clone(), get(base_url, page.boxed()))).collect()
}

fn relation_page(base_url: &Arc<BaseUrl>, name: &str, text: String) -> Page {
    let (path, title) = (format!("/rels/{name}"), format!("Link relation “{name}”"));
    Page { base_url: Arc::clone(base_url), path, title, text, facts: json!({ "relation": name }) }
}

fn problem_page(base_url: &Arc<BaseUrl>, kind: &ProblemKind) -> Page {
    let ProblemKind { code, status, title, explanation } = *kind;
    let status = status.as_u16();
    Page {
        base_url: Arc::clone(base_url),
        path: format!("/problems/{code}"),
        title: format!("{status} — {title}"),
        text: explanation.to_owned(),
        facts: json!({ "code": code, "status": status }),
    }
}
