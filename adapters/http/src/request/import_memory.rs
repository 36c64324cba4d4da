//! The memory for the rows of imports: a row costs many times its bytes in the file.

use application::table::FormatKind;
use application::{ImportMode, ImportRow, RowMembers};

use crate::tables::{MOST_ROWS, sheet::MOST_CELLS};

/// In bytes, with `mode=each`: the row and its outcome.
const ROW: usize = 512;

/// In bytes, with `mode=all`: the row, its outcome, the new item and its change.
const ROW_OF_ALL: usize = 1_280;

/// In bytes, without the cell's text.
const CELL: usize = 64;

/// Returns an upper bound from the number of separators. `None` for a workbook, which is
/// compressed.
pub fn most_of_rows(kind: FormatKind, body: &[u8], mode: ImportMode) -> Option<usize> {
    let count = |wanted: &[u8]| body.iter().filter(|byte| wanted.contains(byte)).count() + 1;
    let (rows, cells) = match kind {
        FormatKind::Xlsx => return None,
        FormatKind::Csv => (count(b"\r\n"), count(b",\r\n")),
        FormatKind::Ndjson => (count(b"\n"), 0),
        FormatKind::Json => (count(b","), 0),
    };
    Some(of_rows(mode, rows.min(MOST_ROWS), cells.min(MOST_CELLS)))
}

pub fn of_workbook(rows: &[ImportRow], mode: ImportMode) -> usize {
    let cells = rows.iter().filter_map(|row| match &row.content.as_ref().ok()?.members {
        RowMembers::Cells { cells, .. } => Some(cells),
        RowMembers::Whole(_) => None,
    });
    let (mut count, mut text) = (0, 0);
    for cell in cells.flatten() {
        count += 1;
        text += cell.as_written().map_or(0, str::len);
    }
    of_rows(mode, rows.len(), count) + text
}

const fn of_rows(mode: ImportMode, rows: usize, cells: usize) -> usize {
    let row = match mode {
        ImportMode::All => ROW_OF_ALL,
        ImportMode::Each => ROW,
    };
    rows * row + cells * CELL
}

#[cfg(test)]
mod tests {
    use application::ImportMode::{All, Each};
    use application::table::FormatKind;

    use super::{most_of_rows, of_rows};

    #[test]
    fn an_import_is_measured_by_its_rows_and_cells() {
        let most = |kind, body: &str| most_of_rows(kind, body.as_bytes(), All);
        assert_eq!(most(FormatKind::Csv, "a,b\n1,2\n3,4"), Some(of_rows(All, 3, 6)));
        assert_eq!(most(FormatKind::Ndjson, "{}\n{\"a\":1,\"b\":2}"), Some(of_rows(All, 2, 0)));
        assert_eq!(most(FormatKind::Json, "[{},{}]"), Some(of_rows(All, 2, 0)));
        assert_eq!(most(FormatKind::Xlsx, "PK"), None);
        let digits = "1\n".repeat(99_999);
        let each = most_of_rows(FormatKind::Csv, digits.as_bytes(), Each);
        assert!(each > Some(50 << 20), "far more than the bytes of the file");
        assert!(most(FormatKind::Csv, &digits) > each);
    }
}
