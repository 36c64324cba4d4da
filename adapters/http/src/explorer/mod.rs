//! The explorer: pages for people, over the same use cases as the API.
//!
//! The server renders every page; a script adds live changes and write forms. Groups have the names
//! of their collections.

mod cells;
mod changes;
mod charts;
mod children;
mod collection;
mod deleted;
mod developers;
mod difference;
mod edit;
mod filters;
mod forms;
mod history;
mod import;
mod item;
mod links;
mod overview;
mod page;
mod reader;
mod search;
mod titles;

use std::collections::BTreeSet;
use std::sync::Arc;

use application::{ApplicationError, Caller, ItemAddress, Labels, Readiness, ResourceService};
use domain::{Collection, ItemId, Operation};
use jiff::tz::TimeZone;
use poem::http::header::{CONTENT_SECURITY_POLICY, SET_COOKIE, VARY};
use poem::http::{HeaderValue, StatusCode};
use poem::{Request, Response};
use tokio::sync::{Semaphore, watch};

use crate::assets::{self, Asset};
use crate::endpoints::documentation::Documentation;
use crate::endpoints::resources::HttpContext;
use crate::endpoints::{content, handler, in_time};
use crate::groups::{GROUPS, Group};
use crate::headers::content_policy::REFERENCE_POLICY;
use crate::headers::entity_tag::EntityTag;
use crate::headers::media_type::MediaType;
use crate::headers::set;
use crate::links::RULE_PARAMETER;
use crate::middleware::gate::Asks;
use crate::middleware::method_router::MethodRouter;
use crate::problem::{Problem, Result};
use crate::query::query_of;
use crate::sessions::RequestSession;
use developers::guide::{self, Chapter};
use links::ExplorerLinks;
pub use titles::item_title;

pub const ROOT: &str = "/explore";

/// The logo of the agency.
const LOGO: &str = "/explore/logo";

const ITEM_PARAMETER: &str = "item_id";

pub struct ExploredGroup {
    pub group: Group,
    pub service: Arc<ResourceService>,
}

#[derive(Clone, Debug)]
pub struct Deployment {
    pub version: &'static str,
    pub engine: &'static str,
    /// Kinds of files, such as `rules`, whose last reload failed: older content is in force.
    pub reload_failed: watch::Receiver<BTreeSet<&'static str>>,
    pub labels: Arc<dyn Labels>,
    /// The zone of the times on pages.
    pub time_zone: TimeZone,
}

impl Deployment {
    fn failed_files(&self) -> Vec<String> {
        self.reload_failed.borrow().iter().map(|kind| kind.replace('_', " ")).collect()
    }
}

pub struct Explorer {
    context: Arc<HttpContext>,
    groups: Arc<[ExploredGroup]>,
    store: Arc<dyn Readiness>,
    deployment: Deployment,
    links: ExplorerLinks,
    pub documentation: Arc<Documentation>,
    /// One audit at a time: each may occupy a processor.
    audits: Semaphore,
}

#[derive(Clone, Copy)]
enum ExplorerPage {
    Overview,
    Changes,
    Search,
    Guide(&'static Chapter),
    Reference,
    Rules,
    Rule,
    Playground,
    Collection(Group),
    New(Group),
    Item(Group),
    Edit(Group),
    Import(Group),
    Deleted(Group),
    History(Group),
    Difference(Group),
}

impl Explorer {
    pub fn new(
        context: &Arc<HttpContext>,
        groups: Arc<[ExploredGroup]>,
        store: Arc<dyn Readiness>,
        deployment: Deployment,
        documentation: Arc<Documentation>,
    ) -> Arc<Self> {
        let (context, links) = (Arc::clone(context), ExplorerLinks::new(&context.base_url));
        let audits = Semaphore::new(1);
        Arc::new(Self { context, groups, store, deployment, links, documentation, audits })
    }

    pub async fn overview(self: Arc<Self>, request: Request) -> Result<Response> {
        answer((self, ExplorerPage::Overview), request).await
    }

    pub fn routes(self: &Arc<Self>) -> Vec<(String, MethodRouter)> {
        let mut pages = vec![
            (ROOT.to_owned(), ExplorerPage::Overview),
            ("/docs".to_owned(), ExplorerPage::Reference),
            (format!("{ROOT}/search"), ExplorerPage::Search),
            (format!("{ROOT}/changes"), ExplorerPage::Changes),
            (format!("{ROOT}/rules"), ExplorerPage::Rules),
            (format!("{ROOT}/playground"), ExplorerPage::Playground),
            (format!("{ROOT}/rules/:{RULE_PARAMETER}"), ExplorerPage::Rule),
        ];
        pages.extend(guide::chapters().map(|it| (it.path(), ExplorerPage::Guide(it))));
        for ExploredGroup { group, .. } in self.groups.iter() {
            let collection = format!("{ROOT}/{}", group.collection.name());
            let item = format!("{collection}/:{ITEM_PARAMETER}");
            pages.extend([
                (format!("{collection}/new"), ExplorerPage::New(group)),
                (format!("{collection}/import"), ExplorerPage::Import(group)),
                (format!("{collection}/deleted"), ExplorerPage::Deleted(group)),
                (format!("{item}/edit"), ExplorerPage::Edit(group)),
                (format!("{item}/history"), ExplorerPage::History(group)),
                (format!("{item}/diff"), ExplorerPage::Difference(group)),
                (item, ExplorerPage::Item(group)),
                (collection, ExplorerPage::Collection(group)),
            ]);
        }
        for nested in GROUPS.iter().filter(|group| group.is_nested()) {
            let parent = nested.parent().map_or("", |parent| parent.collection.name());
            let path = format!("{ROOT}/{parent}/:{ITEM_PARAMETER}/{}", nested.collection.name());
            pages.extend([
                (format!("{path}/new"), ExplorerPage::New(nested)),
                (path, ExplorerPage::Collection(nested)),
            ]);
        }
        let gate = &self.context.gate;
        let page = |(path, page)| {
            let page = handler((Arc::clone(self), page), answer);
            (path, MethodRouter::unnegotiated(gate, MediaType::HTML, Asks::Anybody, page))
        };
        let asset = |asset: &'static Asset| {
            let file = handler(asset, assets::asset);
            (asset.route(), MethodRouter::unnegotiated(gate, asset.media, Asks::Nothing, file))
        };
        let logo = handler(Arc::clone(self), logo);
        let logo = MethodRouter::unnegotiated(gate, MediaType::ICON, Asks::Nothing, logo);
        let assets = assets::ALL.iter().map(asset).chain([(LOGO.to_owned(), logo)]);
        pages.into_iter().map(page).chain(assets).collect()
    }

    async fn show(&self, page: ExplorerPage, request: &Request) -> Result<(StatusCode, String)> {
        let shown = match page {
            ExplorerPage::Overview => self.show_overview(request).await,
            ExplorerPage::Changes => self.show_changes(request).await,
            ExplorerPage::Search => self.show_search(request).await,
            ExplorerPage::Guide(chapter) => self.show_chapter(chapter, request),
            ExplorerPage::Reference => self.show_reference(request),
            ExplorerPage::Rules => self.show_rules(request),
            ExplorerPage::Rule => self.show_rule(request).await,
            ExplorerPage::Playground => self.show_playground(request).await,
            ExplorerPage::Collection(group) => return self.show_collection(group, request).await,
            ExplorerPage::New(group) => self.show_form_for_new(group, request).await,
            ExplorerPage::Import(group) => self.show_import(group, request),
            ExplorerPage::Deleted(group) => self.show_deleted(group, request).await,
            ExplorerPage::Item(group) => self.show_item(group, request).await,
            ExplorerPage::Edit(group) => self.show_form_for_edit(group, request).await,
            ExplorerPage::History(group) => self.show_history(group, request).await,
            ExplorerPage::Difference(group) => self.show_difference(group, request).await,
        };
        shown.map(|page| (StatusCode::OK, page))
    }

    /// Returns whether the caller may perform the operation on some items.
    fn may(&self, caller: &Caller, collection: Collection, operation: Operation) -> bool {
        let access = &self.context.changing.access;
        access.permissions(caller).has_some(collection, operation)
    }

    fn service(&self, group: Group) -> Result<&ResourceService> {
        let known = self.groups.iter().find(|known| known.group.collection == group.collection);
        known.map(|known| known.service.as_ref()).ok_or_else(Problem::item_not_found)
    }
}

fn target(request: &Request) -> Result<ItemAddress> {
    let id = request.raw_path_param(ITEM_PARAMETER).and_then(ItemId::parse);
    Ok(ItemAddress { parent: None, id: id.ok_or_else(Problem::item_not_found)? })
}

/// `None` if the item is missing or was removed.
fn found<T>(read: application::Result<T>) -> Result<Option<T>> {
    match read {
        Ok(found) => Ok(Some(found)),
        Err(ApplicationError::ItemNotFound) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

async fn logo(explorer: Arc<Explorer>, request: Request) -> Result<Response> {
    let labels = explorer.deployment.labels.in_force();
    let logo = labels.logo.as_ref().ok_or_else(Problem::item_not_found)?;
    let tag = EntityTag::of_content(&logo.bytes);
    let media = HeaderValue::from_static(logo.media_type);
    let mut response = content::answer_tagged(&request, media, &tag, logo.bytes.clone())?;
    // An SVG file that is opened as a page runs no script.
    let policy = HeaderValue::from_static("default-src 'none'; sandbox");
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}

async fn answer(
    (explorer, page): (Arc<Explorer>, ExplorerPage),
    request: Request,
) -> Result<Response> {
    if let Some(location) = forms::redirection(query_of(&request), &explorer.deployment.time_zone) {
        return Ok(explorer.redirect(request.uri().path(), &location));
    }
    let context = &explorer.context;
    let made = async {
        let (status, html) = explorer.show(page, &request).await?;
        let body = context.memory.body(html.len(), None, || html).await?;
        let mut response = page::answer(&request, status, body)?;
        if matches!(page, ExplorerPage::Reference) {
            response.headers_mut().insert(CONTENT_SECURITY_POLICY, REFERENCE_POLICY);
        }
        Ok::<_, Problem>(response)
    };
    let answer = in_time(context.time_limit, made).await;
    let mut response = answer.unwrap_or_else(|problem| explorer.refuse(&request, &problem));
    response.headers_mut().append(VARY, HeaderValue::from_static("Accept-Language"));
    if let Some(cookie) =
        context.gate.sessions.cookie.filter(|_| RequestSession::has_ended(&request))
    {
        set(response.headers_mut(), SET_COOKIE, cookie.remove());
    }
    Ok(response)
}
