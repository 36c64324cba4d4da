use domain::{Pointer, Version, Violation, Violations, WriteOperation};

use super::Import;
use super::row::RowContent;
use crate::ApplicationError;
use crate::ports::RepositoryError;

pub(super) fn duplicate_id() -> Violation {
    let detail = "An earlier row has the same id. Keep one of them.";
    Violation::of_member("id", "duplicate_id", detail)
}

pub(super) fn id_not_allowed() -> Violation {
    let detail = "The service assigns ids. Remove the column `id`, or send `upsert=true` to change these items.";
    Violation::of_member("id", "id_not_allowed", detail)
}

pub(super) fn unknown_id() -> Violation {
    let detail = "No item has this id. Correct it, or leave the cell empty to create an item.";
    Violation::of_member("id", "unknown_id", detail)
}

pub(super) fn require_no_version(content: &RowContent) -> Result<(), Violation> {
    if content.version.is_none() {
        return Ok(());
    }
    let detail =
        "The row has a version but no id. Restore its id, or leave both empty to create an item.";
    Err(Violation::of_member("_version", "version_without_id", detail))
}

pub(super) fn require_version(
    import: &Import,
    content: &RowContent,
    (current, history): (Version, &str),
) -> Result<(), Violation> {
    // Rejects `+1` and `01`.
    let is_number = |sent: &str| sent.parse().is_ok_and(|number: i64| number.to_string() == sent);
    let sent = content.version.as_deref();
    let (sent, exported_from) = match sent.and_then(|sent| sent.split_once('@')) {
        Some((number, of)) => (Some(number), of),
        None => (sent, history),
    };
    let (code, detail) = match sent {
        None if !import.requires_version => return Ok(()),
        None => (
            "version_required",
            "The version is required to change an item. Export the column `_version` and keep it.".to_owned(),
        ),
        Some(sent) if is_number(sent) && exported_from != history => (
            "stale_version",
            "The row was exported from another history of the store: a backup was restored, another server took over, or it is another \
             store. Export the item again and repeat the change.".to_owned(),
        ),
        Some(sent) if sent == current.number().to_string() => return Ok(()),
        Some(sent) if is_number(sent) => (
            "stale_version",
            format!("The item was changed after the export: it is now at version {current}. Export it again and repeat the change."),
        ),
        Some(_) => (
            "malformed_version",
            "Invalid version. Restore the exported version, or leave the cell empty to change the current version.".to_owned(),
        ),
    };
    Err(Violation::of_member("_version", code, detail))
}

pub(super) fn too_much(import: &Import) -> Violation {
    let detail = format!(
        "The rows change items of more than {} MiB in total. Send fewer rows at a time, or use `mode=each`.",
        import.most_bytes >> 20
    );
    Violation::new(Pointer::root(), "too_much_at_once", detail)
}

pub(super) fn not_stored(error: &ApplicationError) -> Violation {
    let (code, detail) = match error {
        ApplicationError::TooManyConflicts => {
            ("too_many_conflicts", "Other requests kept changing the item. Send the row again.")
        }
        ApplicationError::Store(RepositoryError::Full) => {
            ("store_full", "The storage is full. Contact the operators.")
        }
        _ => (
            "not_stored",
            "The store failed. Check whether the row was written before you send it again.",
        ),
    };
    Violation::new(Pointer::root(), code, detail)
}

pub(super) fn not_permitted(operation: WriteOperation, refusal: ApplicationError) -> Violations {
    let by = match refusal {
        ApplicationError::MembersNotPermitted(violations) => return violations,
        ApplicationError::NotPermitted { policies, .. } if !policies.is_empty() => {
            format!(" (policies: {})", policies.join(", "))
        }
        _ => String::new(),
    };
    let verb = operation.name();
    let detail = format!("You are not allowed to {verb} this item{by}. Remove the row.");
    Violation::new(Pointer::root(), "not_permitted", detail).into()
}
