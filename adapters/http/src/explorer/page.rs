//! The layout of pages, and their responses.

use askama::Template;
use bytes::Bytes;
use poem::http::StatusCode;
use poem::http::header::{CONTENT_TYPE, LOCATION};
use poem::{Request, Response};

use super::Explorer;
use super::links::ExplorerLinks;
use crate::endpoints::content;
use crate::headers::entity_tag::EntityTag;
use crate::headers::media_type::MediaType;
use crate::links::SIGN_IN;
use crate::problem::{Problem, Result, kinds};
use crate::query::with_query;

pub struct Layout<'a> {
    pub links: &'a ExplorerLinks,
    pub title: String,
    /// Addresses and names; true for the current one.
    pub entries: Vec<(String, &'static str, bool)>,
    pub command: Option<String>,
    /// `None` if callers are not identified.
    pub sign_in: Option<String>,
}

impl Layout<'_> {
    /// Converts backticks to `<code>`.
    #[expect(clippy::unused_self, reason = "templates reach it through the layout")]
    pub fn marked(&self, text: &str) -> String {
        marked(text)
    }
}

fn marked(text: &str) -> String {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mark = |(index, part)| match index % 2 {
        0 => String::from(part),
        _ => format!("<code>{part}</code>"),
    };
    escaped.split('`').enumerate().map(mark).collect()
}

#[derive(Template)]
#[template(path = "explorer/problem.html")]
struct ProblemPage<'a> {
    layout: Layout<'a>,
    problem: &'a Problem,
    detail: &'a str,
    access: Option<Refusal>,
}

#[derive(Clone, Copy)]
enum Refusal {
    SignIn,
    /// Callers are not identified.
    Unknown,
    Policies,
}

impl Explorer {
    /// `current` is the menu entry to highlight. `command` is the equivalent API request.
    pub(super) fn layout(
        &self,
        _request: &Request,
        title: impl Into<String>,
        current: &str,
        command: impl Into<Option<String>>,
    ) -> Layout<'_> {
        let groups = self.groups.iter().map(|known| {
            let collection = known.group.collection;
            (self.links.collection(collection), collection.name(), known.group.items_name)
        });
        let others = [
            ("/explore/changes", "changes"),
            ("/explore/rules", "rules"),
            ("/explore/playground", "playground"),
            ("/guide", "guide"),
            ("/docs", "operations"),
        ];
        let others = others.map(|(path, name)| (self.links.to(path), name, name));
        let overview = [(self.links.overview(), "overview", "overview")];
        let entries = overview.into_iter().chain(groups).chain(others);
        let entry = |(href, key, name)| (href, name, key == current);
        Layout {
            links: &self.links,
            title: title.into(),
            entries: entries.map(entry).collect(),
            command: command.into(),
            sign_in: self.context.gate.knows_callers().then(|| self.links.to(SIGN_IN)),
        }
    }

    pub(super) fn command(&self, path: &str, query: &str) -> String {
        let url = with_query(&format!("{}{path}", self.context.base_url), query);
        format!("curl -g '{}'", url.replace('\'', "%27"))
    }

    pub(super) fn redirect(&self, path: &str, query: &str) -> Response {
        Response::builder()
            .status(StatusCode::SEE_OTHER)
            .header(LOCATION, with_query(&self.links.to(path), query))
            .content_type(MediaType::HTML.name())
            .finish()
    }

    pub(super) fn refuse(&self, request: &Request, problem: &Problem) -> Response {
        let kind = problem.kind;
        let layout = self.layout(request, kind.title, "", None);
        let access = match kind.code {
            code if code == kinds::CREDENTIALS_REQUIRED.code => {
                Some(layout.sign_in.as_ref().map_or(Refusal::Unknown, |_| Refusal::SignIn))
            }
            code if code == kinds::NOT_PERMITTED.code => Some(Refusal::Policies),
            _ => None,
        };
        let page = ProblemPage {
            layout,
            problem,
            detail: match access {
                Some(Refusal::Policies) => "You are not allowed to see this page.",
                _ => &problem.detail,
            },
            access,
        };
        let mut response = Response::builder()
            .status(kind.status)
            .header(CONTENT_TYPE, MediaType::HTML.header())
            .body(page.render().unwrap_or_default());
        response.headers_mut().extend(problem.headers.iter().cloned());
        response
    }
}

/// Answers 304 if the client has the page, unless it is an error page.
pub fn answer(request: &Request, status: StatusCode, body: Bytes) -> Result<Response> {
    if status == StatusCode::OK {
        let tag = EntityTag::of_content(&body);
        return content::answer_tagged(request, MediaType::HTML.header(), &tag, body);
    }
    let response = Response::builder().status(status);
    Ok(response.header(CONTENT_TYPE, MediaType::HTML.header()).body(body))
}

pub fn render(page: &impl Template) -> Result<String> {
    page.render().map_err(|error| {
        tracing::error!(%error, "cannot render a page");
        Problem::new(&kinds::INTERNAL, "Internal error.")
    })
}

#[cfg(test)]
mod tests {
    use super::marked;

    #[test]
    fn code_is_marked_and_everything_is_escaped() {
        for (text, html) in [
            ("a `b` c", "a <code>b</code> c"),
            ("`<b>` & `x", "<code>&lt;b&gt;</code> &amp; <code>x</code>"),
            ("", ""),
        ] {
            assert_eq!(marked(text), html);
        }
    }
}
