//! The page of the deleted items of a group, each with a way to restore it.

use std::collections::HashSet;

use application::{ItemAddress, SeenChange};
use askama::Template;
use domain::Operation;
use poem::Request;

use super::Explorer;
use super::cells;
use super::changes::{ChangeRow, change_row};
use super::page::{Layout, render};
use super::titles::Titles;
use crate::groups::Group;
use crate::problem::Result;
use crate::query::refuse_parameters;
use crate::request::caller::caller_of;

/// Each row takes a read of its last version.
const MOST_ROWS: u64 = 50;

#[derive(Template)]
#[template(path = "explorer/deleted.html")]
struct DeletedPage<'a> {
    layout: Layout<'a>,
    group: Group,
    rows: Vec<DeletedRow>,
    is_cut: bool,
}

struct DeletedRow {
    change: ChangeRow,
    title: String,
    own: String,
    /// The address that restores the last version; `None` if the caller may not, or it is gone.
    restore: Option<String>,
}

impl Explorer {
    pub(super) async fn show_deleted(&self, group: Group, request: &Request) -> Result<String> {
        refuse_parameters(request)?;
        let (caller, collection, log) = (caller_of(request), group.collection, &self.context.log);
        let deletions = log.deletions(caller, collection, MOST_ROWS).await?;
        let is_cut = deletions.len() as u64 == MOST_ROWS;
        let deletions: Vec<_> = deletions.iter().filter_map(SeenChange::shown).collect();
        let service = self.service(group)?;
        let ids: Vec<_> = deletions.iter().map(|change| change.item).collect();
        // The same item may have been deleted several times, and may exist again.
        let mut known: HashSet<_> = service.existing_items(&ids).await?.into_iter().collect();
        let names = log.caller_names(deletions.iter().copied()).await?;
        let title = format!("Deleted {}", group.items_name);
        let layout = self.layout(request, title, collection.name(), None);
        let may_restore = self.may(caller, collection, Operation::Create);
        let mut rows = Vec::new();
        for deletion in deletions {
            if !known.insert(deletion.item) {
                continue;
            }
            let address = ItemAddress { parent: None, id: deletion.item };
            let last = match deletion.previous_version() {
                Some(version) => service.version(caller, address, version).await.ok(),
                None => None,
            };
            let path = format!("{}/{}", group.path, deletion.item);
            let restore = deletion.previous_version().filter(|_| may_restore && last.is_some());
            rows.push(DeletedRow {
                title: last.map_or_else(
                    || deletion.item.to_string(),
                    |(_, item)| cells::title(&item, group.columns),
                ),
                own: self.links.item(collection, deletion.item),
                restore: restore
                    .map(|it| self.links.to(&format!("{path}/versions/{}", it.number()))),
                change: change_row(deletion, &names, &Titles::default(), &layout.reader),
            });
        }
        render(&DeletedPage { layout, group, rows, is_cut })
    }
}
