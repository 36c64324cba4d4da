//! The page of an item's history: its versions, newest first, each with a way to restore it.

use application::{CallerNames, ItemAddress, LoggedChange, View};
use askama::Template;
use domain::Operation;
use poem::Request;

use super::cells;
use super::changes::{ChangeRow, change_row};
use super::links::escaped;
use super::page::{Layout, render};
use super::reader::{Reader, ShownTime};
use super::titles::Titles;
use super::{Explorer, found, target};
use crate::groups::Group;
use crate::problem::Result;
use crate::query::{VersionsQuery, query_of};
use crate::request::caller::caller_of;

#[derive(Template)]
#[template(path = "explorer/history.html")]
struct HistoryPage<'a> {
    layout: Layout<'a>,
    noun: &'static str,
    exists: bool,
    /// Empty if the item was removed.
    tag: String,
    own: String,
    api: String,
    latest: i64,
    versions: Vec<VersionRow>,
    can_restore: bool,
    newer: Option<String>,
    older: Option<String>,
}

pub struct VersionRow {
    pub change: ChangeRow,
    pub view: Option<String>,
    pub difference: Option<String>,
    pub is_latest: bool,
    pub removed_at: Option<ShownTime>,
}

impl Explorer {
    pub(super) async fn show_history(&self, group: Group, request: &Request) -> Result<String> {
        let query = VersionsQuery::read(query_of(request))?;
        self.history(request, group, target(request)?, &query).await
    }

    pub(super) async fn history(
        &self,
        request: &Request,
        group: Group,
        item: ItemAddress,
        query: &VersionsQuery,
    ) -> Result<String> {
        let (service, caller) = (self.service(group)?, caller_of(request));
        let (page, size) = (query.page, query.page_size);
        let past = service.versions(caller, item, page, size).await?;
        let names = self.context.log.caller_names(past.versions.iter()).await?;
        // Needed for the condition of a restoration.
        let current = found(service.get(caller, item, &View::default()).await)?;
        let can_restore = match &current {
            Some(_) => {
                let allowed = service.allowed(caller, &[item.id]).await?;
                allowed.get(&item.id).is_some_and(|it| it.contains(Operation::Replace))
            }
            None => self.may(caller, group.collection, Operation::Create),
        };
        let own = self.links.item(group.collection, item.id);
        let latest = past.latest.number();
        let api = format!("{}/{}", group.path, item.id);
        let title = match &current {
            Some((shown, _)) => format!("History of {}", cells::title(&shown.item, group.columns)),
            None => format!("History of {}", group.item_name),
        };
        let command = self.command(&format!("{api}/versions"), "");
        let to = |page: u64| format!("{own}/history?page={page}&page_size={size}");
        let pages = u64::try_from(latest).unwrap_or_default().div_ceil(size);
        let layout = self.layout(request, title, group.collection.name(), command);
        let row = |it| version_row(it, &names, &own, (latest, &layout.reader));
        render(&HistoryPage {
            noun: group.noun(),
            exists: current.is_some(),
            tag: current.map(|(shown, _)| self.tag(&shown)).unwrap_or_default(),
            api: self.links.to(&api),
            latest,
            versions: past.versions.iter().map(row).collect(),
            can_restore,
            newer: (page > 1).then(|| to(page - 1)),
            older: (page < pages).then(|| to(page + 1)),
            own,
            layout,
        })
    }
}

pub fn version_row(
    change: &LoggedChange,
    names: &CallerNames,
    own: &str,
    (latest, reader): (i64, &Reader),
) -> VersionRow {
    let (number, has_body) = (change.version.number(), change.has_body());
    let previous = change.previous_version().filter(|_| has_body);
    let row = change_row(change, names, &Titles::default(), reader);
    VersionRow {
        view: has_body.then(|| format!("{own}?as_of={}", escaped(&row.time.exact))),
        difference: previous
            .map(|before| format!("{own}/diff?from={}&to={number}", before.number())),
        change: row,
        is_latest: number == latest,
        removed_at: change.removed_at.map(|time| reader.time(time)),
    }
}
