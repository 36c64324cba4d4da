//! Where an error of a row stands in the file, as people see it.

use std::sync::Arc;

use application::table::Columns;
use application::{ImportRow, RowMembers};
use domain::{Collection, Violation};

/// The cells of a sheet, by their names.
#[derive(Clone, Debug)]
pub struct SheetCells {
    collection: Collection,
    columns: Arc<Columns>,
}

impl SheetCells {
    /// The cells of the sheet that these rows were read from.
    pub fn of(collection: Collection, rows: &[ImportRow]) -> Option<Self> {
        rows.iter().find_map(|row| match &row.content.as_ref().ok()?.members {
            RowMembers::Cells { columns, .. } => {
                Some(Self { collection, columns: Arc::clone(columns) })
            }
            RowMembers::Whole(_) => None,
        })
    }

    /// The name of the cell that an error of a field is about, such as `C4`.
    fn name(&self, field: &str, line: u64) -> Option<String> {
        let place = self.columns.of_error(self.collection, field)?;
        Some(format!("{}{line}", letters(place)))
    }
}

/// The name of a column of a sheet, by its place from 0: `A` to `Z`, then `AA`.
fn letters(mut place: usize) -> String {
    let mut name = Vec::new();
    loop {
        name.insert(0, b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"[place % 26]);
        match (place / 26).checked_sub(1) {
            Some(rest) => place = rest,
            None => return name.iter().copied().map(char::from).collect(),
        }
    }
}

/// The name of the cell that an error of a row is about.
pub fn cell_of(
    cells: Option<&SheetCells>,
    line: Option<u64>,
    violation: &Violation,
) -> Option<String> {
    cells?.name(&violation.field, line?)
}

#[cfg(test)]
mod tests {
    use super::letters;

    #[test]
    fn columns_are_named_as_in_a_sheet() {
        let names = [0, 2, 25, 26, 51, 52, 701, 702, 1_002].map(letters);
        assert_eq!(names, ["A", "C", "Z", "AA", "AZ", "BA", "ZZ", "AAA", "ALO"]);
    }
}
