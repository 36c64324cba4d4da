//! The reasons why a change cannot follow those before it, with their fixes.

use application::Sequence;
use domain::{ItemId, WriteOperation};
use jiff::Timestamp;
use thiserror::Error;

#[derive(Debug, Error)]
#[rustfmt::skip] // A table: one message a line.
pub(super) enum HistoryError {
    #[error("`sequence` {} comes after {}: numbers must increase from line to line; restore the order of the lines", found.0, last.0)]
    Sequence { found: Sequence, last: Sequence },
    #[error("`version` of {item} is {found} instead of {expected}: versions count up by one from 1; {} or misplaced",
            if found < expected { "the line is duplicated" } else { "a line is missing" })]
    Version { item: ItemId, found: i64, expected: i64 },
    #[error("{item} was in the group `{before}`; an item cannot move to `{group}`; correct the group of the line")]
    Moved { item: ItemId, before: String, group: &'static str },
    #[error("`time` {found} is before {latest}, the time of the previous version; restore the order of the lines")]
    Time { found: Timestamp, latest: Timestamp },
    #[error("{item} is deleted but does not exist; remove the line, or restore the one that created it")]
    DeletedWhileAbsent { item: ItemId },
    #[error("`kind` {} of {item} does not match its history: use `created` if the item does not exist, otherwise another kind", kind.change_name())]
    Kind { item: ItemId, kind: WriteOperation },
    #[error("`{member}` of {item} differs from the previous version; it cannot change while the item exists")]
    Relinked { item: ItemId, member: &'static str },
    #[error("`parent` is given, but items of `{group}` have no parent; set it to null")]
    NoParents { group: &'static str },
    #[error("`parent` names {parent}, which does not exist at this line as an item of `{group}`; its line must come first")]
    NoParent { parent: ItemId, group: &'static str },
    #[error("`continues` names {continues}, which no earlier line creates in `{group}`; its line must come first")]
    NotContinued { continues: ItemId, group: &'static str },
    #[error("{item} is left without its parent {parent}: items are deleted with their parent; restore the missing line")]
    Orphan { item: ItemId, parent: ItemId },
    #[error("the last version of {item} has no `members`; only earlier versions may lack them; restore the members or the missing line")]
    Bodiless { item: ItemId },
}

pub(super) fn ensure(
    holds: bool,
    error: impl FnOnce() -> HistoryError,
) -> Result<(), HistoryError> {
    if holds { Ok(()) } else { Err(error()) }
}
