use domain::{Pointer, Version, Violation};

use super::Import;
use super::row::RowContent;
use crate::ApplicationError;
use crate::ports::RepositoryError;

pub(super) fn id_stands_twice() -> Violation {
    let detail = "a row before has the same id; keep one of them";
    Violation::of_member("id", "duplicate_id", detail)
}

pub(super) fn id_not_allowed() -> Violation {
    let detail = "the service makes ids; remove the column `id`, or change the items it names with `upsert=true`";
    Violation::of_member("id", "id_not_allowed", detail)
}

pub(super) fn unknown_id() -> Violation {
    let detail =
        "there is no item with this id; correct it, or leave the cell empty to make a new item";
    Violation::of_member("id", "unknown_id", detail)
}

pub(super) fn require_no_version(content: &RowContent) -> Result<(), Violation> {
    if content.version.is_none() {
        return Ok(());
    }
    let detail =
        "the row has a version and no id; restore its id, or leave both empty to make a new item";
    Err(Violation::of_member("_version", "version_without_id", detail))
}

pub(super) fn require_version(
    import: &Import,
    content: &RowContent,
    current: Version,
) -> Result<(), Violation> {
    // Rejects `+1` and `01`.
    let is_number = |sent: &str| sent.parse().is_ok_and(|number: i64| number.to_string() == sent);
    let (code, detail) = match content.version.as_deref() {
        None if !import.requires_version => return Ok(()),
        None => (
            "version_required",
            "items are changed under a condition only; export the column `_version` and keep it".to_owned(),
        ),
        Some(sent) if sent == current.number().to_string() => return Ok(()),
        Some(sent) if is_number(sent) => (
            "stale_version",
            format!("the item is at version {current} now: somebody changed it after the row was exported; export it again and repeat the change"),
        ),
        Some(_) => (
            "malformed_version",
            "this is no version; restore the number that was exported, or leave the cell empty to change whatever there is".to_owned(),
        ),
    };
    Err(Violation::of_member("_version", code, detail))
}

pub(super) fn too_much(import: &Import) -> Violation {
    let detail = format!(
        "the rows change items of more than {} MiB in all; send fewer rows at a time, or use `mode=each`",
        import.most_bytes >> 20
    );
    Violation::new(Pointer::root(), "too_much_at_once", detail)
}

pub(super) fn not_stored(error: &ApplicationError) -> Violation {
    let (code, detail) = match error {
        ApplicationError::TooManyConflicts => {
            ("too_many_conflicts", "others kept changing the item; send the row again")
        }
        ApplicationError::Store(RepositoryError::Full) => {
            ("store_full", "there is no space for the row; tell the operators")
        }
        _ => (
            "not_stored",
            "the store failed; look whether the row was written before sending it again",
        ),
    };
    Violation::new(Pointer::root(), code, detail)
}
