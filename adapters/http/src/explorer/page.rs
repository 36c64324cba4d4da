//! The layout of pages, and their responses.

use application::Caller;
use askama::Template;
use bytes::Bytes;
use domain::{Collection, Operation};
use poem::http::StatusCode;
use poem::http::header::{CONTENT_TYPE, LOCATION};
use poem::{Request, Response};

use super::links::ExplorerLinks;
use super::reader::Reader;
use super::{Deployment, Explorer, LOGO};
use crate::endpoints::content;
use crate::headers::entity_tag::EntityTag;
use crate::headers::media_type::MediaType;
use crate::links::{SESSION, SIGN_IN};
use crate::middleware::sites::Sites;
use crate::problem::{Problem, Result, kinds};
use crate::query::with_query;
use crate::request::caller::caller_of;
use crate::sessions::RequestSession;

pub struct Layout<'a> {
    pub links: &'a ExplorerLinks,
    pub title: String,
    pub reader: Reader,
    /// The groups that the caller may read.
    pub menu: Vec<MenuEntry>,
    pub for_developers: Vec<MenuEntry>,
    pub command: Option<String>,
    /// `None` if callers are not identified.
    pub sign_in: Option<SignIn>,
}

/// The data for signing in and out.
pub struct SignIn {
    /// The address of the issuers.
    pub issuers: String,
    /// The address of the session.
    pub session: String,
    pub signed_in: Option<SignedIn>,
    pub has_ended: bool,
    /// True if the base URL admits no session.
    pub is_insecure: bool,
    /// True if the browser withheld the cookie, because a link on another site led here.
    pub comes_again: bool,
}

/// The caller of a session.
pub struct SignedIn {
    pub id: Box<str>,
    pub name: Box<str>,
    pub page_token: String,
}

pub struct MenuEntry {
    pub href: String,
    pub label: String,
    pub is_current: bool,
}

/// The first groups of the menu, in its order.
const MENU: [&str; 7] =
    ["proposals", "proposedprograms", "gadscores", "status", "files", "lib", "cashprogram"];

pub fn place_in_menu(collection: Collection) -> usize {
    MENU.iter().position(|name| *name == collection.name()).unwrap_or(MENU.len())
}

const FOR_DEVELOPERS: [(&str, &str, &str); 7] = [
    ("/explore/changes", "changes", "Changes"),
    ("/explore/rules", "rules", "Rules"),
    ("/explore/playground", "playground", "Rule playground"),
    ("/guide", "guide", "Guide"),
    ("/docs", "operations", "Operations"),
    ("/problems", "problems", "Problems"),
    ("/openapi.json", "document", "OpenAPI document"),
];

impl Layout<'_> {
    pub fn agency(&self) -> &str {
        self.reader.agency().unwrap_or("Research proposals")
    }

    pub fn logo(&self) -> Option<String> {
        self.reader.labels.logo.as_ref().map(|_| self.links.to(LOGO))
    }

    pub fn signed_in(&self) -> Option<&SignedIn> {
        self.sign_in.as_ref()?.signed_in.as_ref()
    }

    pub fn comes_again(&self) -> bool {
        self.sign_in.as_ref().is_some_and(|sign_in| sign_in.comes_again)
    }

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
        request: &Request,
        title: impl Into<String>,
        current: &str,
        command: impl Into<Option<String>>,
    ) -> Layout<'_> {
        let reader = self.reader(request);
        // The page of status entries leads to the status codes.
        let current = if current == "statuses" { "status" } else { current };
        let entry = |href, key, label: &str| MenuEntry {
            href,
            label: label.to_owned(),
            is_current: key == current,
        };
        let readable = self.in_menu(caller_of(request)).into_iter();
        let menu = readable.map(|it| entry(self.links.collection(it), it.name(), reader.group(it)));
        Layout {
            links: &self.links,
            title: title.into(),
            menu: menu.collect(),
            for_developers: FOR_DEVELOPERS
                .map(|(path, key, label)| entry(self.links.to(path), key, label))
                .into(),
            command: command.into(),
            sign_in: self.context.gate.knows_callers().then(|| self.sign_in(request)),
            reader,
        }
    }

    /// The readable groups in the order of the menu. The status codes are reached from the status
    /// entries.
    pub(super) fn in_menu(&self, caller: &Caller) -> Vec<Collection> {
        let groups = self.groups.iter().map(|known| known.group.collection);
        let readable = groups.filter(|it| self.may(caller, *it, Operation::Read));
        let mut shown: Vec<_> = readable.filter(|it| it.name() != "statuses").collect();
        shown.sort_by_key(|it| place_in_menu(*it));
        shown
    }

    fn sign_in(&self, request: &Request) -> SignIn {
        let principal = caller_of(request).principal();
        let session = RequestSession::current(request);
        let signed_in = principal.zip(session).map(|(principal, session)| SignedIn {
            id: principal.id.clone(),
            name: principal.name.as_ref().unwrap_or(&principal.id).clone(),
            page_token: session.page_token(),
        });
        let has_ended = RequestSession::has_ended(request);
        let is_known = principal.is_some() || has_ended;
        SignIn {
            issuers: self.links.to(SIGN_IN),
            session: self.links.to(SESSION),
            signed_in,
            has_ended,
            is_insecure: self.context.gate.sessions.cookie.is_none(),
            comes_again: !is_known && Sites::is_from_another_site(request),
        }
    }

    pub(super) fn reader(&self, request: &Request) -> Reader {
        let Deployment { labels, time_zone, .. } = &self.deployment;
        Reader::of(request.headers(), labels.as_ref(), time_zone)
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
