//! The outcome of an import: what became of each row.

use application::{Imported, ImportedRow, RowOutcome};
use domain::Violations;
use serde_json::{Value, json};

use crate::base_url::BaseUrl;
use crate::problem::cell_error;
use crate::tables::place::{SheetCells, cell_of};

/// Most errors that are listed, and most warnings.
const MOST_LISTED: usize = 1_000;

/// Represents an outcome. Beyond the first errors and warnings, rows tell their status alone.
pub fn imported(imported: &Imported, cells: Option<&SheetCells>, base_url: &BaseUrl) -> String {
    let show = Show { base_url, cells };
    let count = |wanted: &str| imported.rows.iter().filter(|row| status(row) == wanted).count();
    // Warnings, which may be many, take no place from errors.
    let mut left = Listed { errors: MOST_LISTED, warnings: MOST_LISTED };
    let mut text = format!(
        r#"{{"created":{},"replaced":{},"unchanged":{},"refused":{},"rows":["#,
        count("created"),
        count("replaced"),
        count("unchanged"),
        count("refused"),
    );
    // Row by row: the values of many rows take many times their text.
    for (place, own) in imported.rows.iter().enumerate() {
        if place > 0 {
            text.push(',');
        }
        text.push_str(&show.row(own, &mut left).to_string());
    }
    text.push_str("]}");
    text
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

/// How many are still listed.
struct Listed {
    errors: usize,
    warnings: usize,
}

/// How rows are shown.
#[derive(Clone, Copy)]
struct Show<'a> {
    base_url: &'a BaseUrl,
    cells: Option<&'a SheetCells>,
}

impl Show<'_> {
    fn row(self, row: &ImportedRow, left: &mut Listed) -> Value {
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
        if let RowOutcome::Refused(errors) = &row.outcome {
            represented["errors"] = self.entries(errors, row.line, &mut left.errors);
        }
        if !row.warnings.is_empty() || row.warnings.omitted() > 0 {
            represented["warnings"] = self.entries(&row.warnings, row.line, &mut left.warnings);
        }
        represented
    }

    fn entries(self, violations: &Violations, line: Option<u64>, left: &mut usize) -> Value {
        let entry = |violation| {
            let cell = cell_of(self.cells, line, violation);
            cell_error(self.base_url, violation, line, cell)
        };
        let listed: Vec<_> = violations.iter().take(*left).map(entry).collect();
        *left -= listed.len();
        listed.into()
    }
}

#[cfg(test)]
mod tests {
    use application::{Imported, ImportedRow, RowOutcome};
    use domain::{Pointer, Violation, Violations};

    use super::imported;

    #[test]
    fn warnings_take_no_place_from_errors() {
        let violation = || Violation::new(Pointer::root(), "odd", "it is odd");
        let row = |number, outcome, warnings: Violations| ImportedRow {
            number,
            line: None,
            id: None,
            version: None,
            outcome,
            warnings,
        };
        let warned = (1..=1_500).map(|n| row(n, RowOutcome::Created, violation().into()));
        let refused = row(1_501, RowOutcome::Refused(violation().into()), Violations::default());
        let outcome = Imported { rows: warned.chain([refused]).collect(), is_done: true };
        let shown = imported(&outcome, None, &"http://127.0.0.1:8080".parse().unwrap());
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(shown["rows"][1_500]["errors"][0]["code"], "odd");
        assert_eq!(shown["rows"][999]["warnings"][0]["code"], "odd");
        assert_eq!(shown["rows"][1_000]["warnings"].as_array().map(Vec::len), Some(0));
    }
}
