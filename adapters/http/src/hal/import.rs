//! The outcome of an import: what became of each row.

use application::{Imported, ImportedRow, RowOutcome};
use domain::Violations;
use serde_json::{Value, json};

use crate::base_url::BaseUrl;
use crate::problem::cell_error;

/// Most errors and warnings that are listed.
const MOST_LISTED: usize = 1_000;

/// Represents an outcome. Beyond the first errors and warnings, rows tell their status alone.
pub fn imported(imported: &Imported, base_url: &BaseUrl) -> String {
    let count = |wanted: &str| imported.rows.iter().filter(|row| status(row) == wanted).count();
    let mut left = MOST_LISTED;
    json!({
        "created": count("created"),
        "replaced": count("replaced"),
        "unchanged": count("unchanged"),
        "refused": count("refused"),
        "rows": imported.rows.iter().map(|own| row(own, base_url, &mut left)).collect::<Vec<_>>(),
    })
    .to_string()
}

/// The word for what became of a row.
const fn status(row: &ImportedRow) -> &'static str {
    match row.outcome {
        RowOutcome::Created => "created",
        RowOutcome::Replaced => "replaced",
        RowOutcome::Unchanged => "unchanged",
        RowOutcome::Refused(_) => "refused",
    }
}

fn row(row: &ImportedRow, base_url: &BaseUrl, left: &mut usize) -> Value {
    let mut represented = json!({
        "row": row.number,
        "status": status(row),
        "id": row.id.map(|id| id.to_string()),
    });
    if let Some(version) = row.version {
        represented["version"] = version.number().into();
    }
    if let RowOutcome::Refused(errors) = &row.outcome {
        represented["errors"] = entries(errors, base_url, left);
    }
    if !row.warnings.is_empty() {
        represented["warnings"] = entries(&row.warnings, base_url, left);
    }
    represented
}

fn entries(violations: &Violations, base_url: &BaseUrl, left: &mut usize) -> Value {
    let listed: Vec<_> =
        violations.iter().take(*left).map(|violation| cell_error(base_url, violation)).collect();
    *left -= listed.len();
    listed.into()
}
