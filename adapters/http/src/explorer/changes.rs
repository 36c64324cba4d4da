//! The page of the change log; a script keeps it up to date.

use application::{Caller, CallerNames, ChangeAuthor, LoggedChange, SeenChange};
use askama::Template;
use domain::{Collection, Operation, WriteOperation};
use poem::Request;

use super::Explorer;
use super::page::{Layout, render};
use super::reader::{Reader, ShownTime};
use super::titles::Titles;
use crate::links::CHANGE_STREAM;
use crate::problem::Result;
use crate::query::{ChangesQuery, query_of, with_query};
use crate::request::caller::caller_of;

const SHOWN: u64 = 100;

#[derive(Template)]
#[template(path = "explorer/changes.html")]
struct ChangesPage<'a> {
    layout: Layout<'a>,
    changes: Vec<ChangeRow>,
    /// Names and labels; true for the chosen one.
    groups: Vec<(&'static str, String, bool)>,
    own: String,
    stream: String,
}

pub struct ChangeRow {
    pub time: ShownTime,
    pub operation: &'static str,
    pub group: String,
    /// The title of the item, or its identifier if it was deleted.
    pub item: String,
    /// `None` if the caller may not open it.
    pub href: Option<String>,
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

pub fn change_row(
    change: &LoggedChange,
    names: &CallerNames,
    titles: &Titles,
    reader: &Reader,
) -> ChangeRow {
    let title = titles.of(change.collection, change.item);
    ChangeRow {
        time: reader.time(change.time),
        operation: match change.kind {
            WriteOperation::Replace | WriteOperation::Patch => "changed",
            WriteOperation::Attach => "file added",
            WriteOperation::Detach => "file removed",
            kind => kind.change_name(),
        },
        group: reader.group(change.collection).to_owned(),
        item: title.map_or_else(|| change.item.to_string(), str::to_owned),
        href: None,
        version: change.version.number(),
        author: author(&change.author, names),
    }
}

impl Explorer {
    pub(super) async fn show_changes(&self, request: &Request) -> Result<String> {
        let raw = query_of(request);
        let collection = ChangesQuery::group(raw)?;
        let layout =
            self.layout(request, "Latest changes", "changes", self.command(CHANGE_STREAM, raw));
        let (caller, reader) = (caller_of(request), &layout.reader);
        let readable = Collection::all().filter(|it| self.may(caller, *it, Operation::Read));
        let group =
            |it: Collection| (it.name(), reader.group(it).to_owned(), Some(it) == collection);
        render(&ChangesPage {
            groups: readable.map(group).collect(),
            changes: self.latest_changes(caller, collection, SHOWN, reader).await?,
            own: self.links.to("/explore/changes"),
            stream: with_query(&self.links.to(CHANGE_STREAM), raw),
            layout,
        })
    }

    pub(super) async fn latest_changes(
        &self,
        caller: &Caller,
        collection: Option<Collection>,
        most: u64,
        reader: &Reader,
    ) -> Result<Vec<ChangeRow>> {
        let log = &self.context.log;
        let changes = log.latest(caller, collection, most).await?;
        let changes: Vec<_> = changes.iter().filter_map(SeenChange::shown).collect();
        let names = log.caller_names(changes.iter().copied()).await?;
        let titles = self.titles(caller, changes.iter().map(|it| (it.collection, it.item))).await?;
        let row = |change: &&LoggedChange| {
            let own = self.links.item(change.collection, change.item);
            let exists = titles.of(change.collection, change.item).is_some();
            let has_history = || self.may(caller, change.collection, Operation::History);
            ChangeRow {
                href: if exists {
                    Some(own)
                } else {
                    has_history().then(|| format!("{own}/history"))
                },
                ..change_row(change, &names, &titles, reader)
            }
        };
        Ok(changes.iter().map(row).collect())
    }
}
