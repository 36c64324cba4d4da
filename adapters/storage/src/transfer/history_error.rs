//! The reasons why a change cannot follow those before it: one line each, which says how to fix it.

use application::Sequence;
use domain::{ItemId, WriteOperation};
use jiff::Timestamp;
use thiserror::Error;

/// An error in a file of changes.
#[derive(Debug, Error)]
#[rustfmt::skip] // A table: one message a line.
pub(super) enum HistoryError {
    #[error("`sequence` {} comes after {}: numbers must grow from line to line; put the lines in their order", found.0, last.0)]
    Sequence { found: Sequence, last: Sequence },
    #[error("`version` {found} of {item} comes where version {expected} is expected: versions count up by one from 1; {}, or is not in its place",
            if found < expected { "the line stands twice" } else { "a line is missing" })]
    Version { item: ItemId, found: i64, expected: i64 },
    #[error("{item} was in the group `{before}` before; an item cannot move to `{group}`, so correct the group of the line")]
    Moved { item: ItemId, before: String, group: &'static str },
    #[error("`time` {found} is before {latest} of the version before: the times of an item must not go back; put the lines in their order")]
    Time { found: Timestamp, latest: Timestamp },
    #[error("{item} is deleted where it does not exist; remove the line, or put back the one that created it")]
    DeletedWhileAbsent { item: ItemId },
    #[error("`kind` {} of {item} does not go with what was before: it is `created` where the item does not exist, another where it does", kind.change_name())]
    Kind { item: ItemId, kind: WriteOperation },
    #[error("`{member}` of {item} differs from what it was before; an item keeps it while it exists")]
    Relinked { item: ItemId, member: &'static str },
    #[error("`parent` is given, but items of `{group}` belong to no other item; make it null")]
    NoParents { group: &'static str },
    #[error("`parent` names {parent}, which does not exist there as an item of `{group}`; its line must come first")]
    NoParent { parent: ItemId, group: &'static str },
    #[error("`continues` names {continues}, which no earlier line creates in `{group}`; its line must come first")]
    NotContinued { continues: ItemId, group: &'static str },
    #[error("{item} is left without {parent}, which it belongs to: whatever belongs to an item is deleted with it; put back the missing line")]
    Orphan { item: ItemId, parent: ItemId },
    #[error("{item} is left at a version without `members`, which only versions before the last may lack; put back the members, or the missing line")]
    Bodiless { item: ItemId },
}

/// Returns an error unless a condition holds.
pub(super) fn ensure(
    holds: bool,
    error: impl FnOnce() -> HistoryError,
) -> Result<(), HistoryError> {
    if holds { Ok(()) } else { Err(error()) }
}
