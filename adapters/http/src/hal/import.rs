//! The outcome of an import, row by row.

use application::{Imported, ImportedRow, MemberChange, RowOutcome};
use domain::{Collection, Violations, nearest};
use serde_json::{Value, json};

use crate::base_url::BaseUrl;
use crate::problem::cell_error;
use crate::tables::place::{SheetCells, cell_of};

/// `collection` has the known members, to which new ones may be corrected.
pub fn imported(
    imported: &Imported,
    collection: Collection,
    cells: Option<&SheetCells>,
    base_url: &BaseUrl,
) -> String {
    let count = |wanted: &str| imported.rows.iter().filter(|row| status(row) == wanted).count();
    let statuses = ["created", "replaced", "unchanged", "refused"];
    let counts = statuses.map(|status| format!("\"{status}\":{},", count(status))).concat();
    let mut text = format!("{{{counts}\"rows\":[");
    // Written row by row: values would take many times the memory of their text.
    for (place, row) in imported.rows.iter().enumerate() {
        if place > 0 {
            text.push(',');
        }
        text.push_str(&represent(row, cells, base_url).to_string());
    }
    text.push(']');
    if !imported.new_members.is_empty() {
        let new = imported.new_members.iter().map(|name| {
            let known = collection.known_members().map(|(known, _)| known);
            json!({ "name": name, "did_you_mean": nearest(name, known) })
        });
        let new: Value = new.collect();
        text.push_str(",\"new_members\":");
        text.push_str(&new.to_string());
    }
    text.push('}');
    text
}

const fn status(row: &ImportedRow) -> &'static str {
    match row.outcome {
        RowOutcome::Created => "created",
        RowOutcome::Replaced => "replaced",
        RowOutcome::Unchanged => "unchanged",
        RowOutcome::Refused(_) => "refused",
    }
}

fn represent(row: &ImportedRow, cells: Option<&SheetCells>, base_url: &BaseUrl) -> Value {
    let entries = |violations: &Violations| -> Value {
        let entry = |violation| {
            let cell = cell_of(cells, row.line, violation);
            cell_error(base_url, violation, row.line, cell)
        };
        violations.iter().map(entry).collect()
    };
    let mut represented = json!({
        "row": row.number,
        "status": status(row),
        "id": row.id.map(|id| id.to_string()),
    });
    if let Some(line) = row.line {
        represented["line"] = line.into();
    }
    if let Some(version) = row.version {
        represented["version"] = version.number().into();
    }
    if !row.changes.is_empty() {
        let change = |change: &MemberChange| {
            let MemberChange { name, before, after } = change;
            json!({ "member": name, "before": before, "after": after })
        };
        represented["changes"] = row.changes.iter().map(change).collect();
    }
    if let RowOutcome::Refused(errors) = &row.outcome {
        represented["errors"] = entries(errors);
    }
    if !row.warnings.is_empty() || row.warnings.omitted() > 0 {
        represented["warnings"] = entries(&row.warnings);
    }
    represented
}
