//! The page of an item's history: its versions, newest first, each with a way to restore it.

use application::{CallerNames, ItemAddress, LoggedChange, View};
use askama::Template;
use domain::Operation;
use poem::Request;

use super::changes::ChangeRow;
use super::links::escaped;
use super::page::{Layout, render};
use super::{Explorer, found, target};
use crate::groups::Group;
use crate::problem::Result;
use crate::query::{VersionsQuery, query_of};
use crate::request::caller::caller_of;
use crate::time::TIME;

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

struct VersionRow {
    change: ChangeRow,
    view: Option<String>,
    difference: Option<String>,
    is_latest: bool,
    removed_at: Option<String>,
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
        let title = format!("History of {} {}", group.item_name, item.id);
        let command = self.command(&format!("{api}/versions"), "");
        let to = |page: u64| format!("{own}/history?page={page}&page_size={size}");
        let pages = u64::try_from(latest).unwrap_or_default().div_ceil(size);
        render(&HistoryPage {
            layout: self.layout(request, title, group.collection.name(), command),
            noun: group.noun(),
            exists: current.is_some(),
            tag: current.map(|(shown, _)| self.tag(&shown)).unwrap_or_default(),
            api: self.links.to(&api),
            latest,
            versions: past.versions.iter().map(|it| self.row(it, &names, &own, latest)).collect(),
            can_restore,
            newer: (page > 1).then(|| to(page - 1)),
            older: (page < pages).then(|| to(page + 1)),
            own,
        })
    }

    fn row(
        &self,
        change: &LoggedChange,
        names: &CallerNames,
        own: &str,
        latest: i64,
    ) -> VersionRow {
        let (number, has_body) = (change.version.number(), change.has_body());
        let previous = change.previous_version().filter(|_| has_body);
        let row = self.change_row(change, names);
        VersionRow {
            view: has_body.then(|| format!("{own}?as_of={}", escaped(&row.time))),
            difference: previous
                .map(|before| format!("{own}/diff?from={}&to={number}", before.number())),
            change: row,
            is_latest: number == latest,
            removed_at: change.removed_at.map(|time| TIME.timestamp_to_string(&time)),
        }
    }
}
