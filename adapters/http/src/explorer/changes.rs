//! The page of the change log; a script keeps it up to date.

use application::{Caller, CallerNames, ChangeAuthor, LoggedChange, SeenChange};
use askama::Template;
use domain::{Collection, WriteOperation};
use poem::Request;

use super::Explorer;
use super::page::{Layout, render};
use crate::links::CHANGE_STREAM;
use crate::problem::Result;
use crate::query::{ChangesQuery, query_of, with_query};
use crate::request::caller::caller_of;
use crate::time::TIME;

const SHOWN: u64 = 100;

#[derive(Template)]
#[template(path = "explorer/changes.html")]
struct ChangesPage<'a> {
    layout: Layout<'a>,
    changes: Vec<ChangeRow>,
    groups: Vec<(&'static str, bool)>,
    own: String,
    stream: String,
}

pub struct ChangeRow {
    pub time: String,
    pub operation: &'static str,
    pub group: &'static str,
    pub item: String,
    pub href: String,
    pub version: i64,
    pub author: String,
}

fn author(ChangeAuthor { caller, acting, .. }: &ChangeAuthor, names: &CallerNames) -> String {
    let caller = match caller.as_deref() {
        Some(id) => names.get(id).map_or_else(|| id.to_owned(), |name| format!("{name} ({id})")),
        // Anonymous or hidden.
        None => "unknown".to_owned(),
    };
    match acting {
        Some(acting) => format!("{acting} for {caller}"),
        None => caller,
    }
}

impl Explorer {
    pub(super) async fn show_changes(&self, request: &Request) -> Result<String> {
        let raw = query_of(request);
        let collection = ChangesQuery::group(raw)?;
        let changes = self.latest_changes(caller_of(request), collection, SHOWN).await?;
        let command = self.command(CHANGE_STREAM, raw);
        render(&ChangesPage {
            layout: self.layout(request, "Latest changes", "changes", command),
            changes,
            groups: Collection::all().map(|it| (it.name(), Some(it) == collection)).collect(),
            own: self.links.to("/explore/changes"),
            stream: with_query(&self.links.to(CHANGE_STREAM), raw),
        })
    }

    pub(super) async fn latest_changes(
        &self,
        caller: &Caller,
        collection: Option<Collection>,
        most: u64,
    ) -> Result<Vec<ChangeRow>> {
        let log = &self.context.log;
        let changes = log.latest(caller, collection, most).await?;
        let shown = || changes.iter().filter_map(SeenChange::shown);
        let names = log.caller_names(shown()).await?;
        Ok(shown().map(|change| self.change_row(change, &names)).collect())
    }

    pub(super) fn change_row(&self, change: &LoggedChange, names: &CallerNames) -> ChangeRow {
        let own = self.links.item(change.collection, change.item);
        let is_removal = change.kind == WriteOperation::Delete;
        ChangeRow {
            time: TIME.timestamp_to_string(&change.time),
            operation: change.kind.change_name(),
            group: change.collection.name(),
            item: change.item.to_string(),
            href: if is_removal { format!("{own}/history") } else { own },
            version: change.version.number(),
            author: author(&change.author, names),
        }
    }
}
