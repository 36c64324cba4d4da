//! The memory for the rows of imports: a row costs many times its bytes in the file.

use application::table::FormatKind;
use application::{ImportMode, ImportRow, RowMembers};

use crate::problem::Problem;
use crate::request::memory_budget::{MemoryBudget, MemoryReservation};
use crate::tables::{MOST_ROWS, sheet::MOST_CELLS};

/// Bytes per row with `mode=each`: the row as read, and its outcome.
const ROW: usize = 512;

/// Bytes per row with `mode=all`: in addition the new item and its change.
const ROW_OF_ALL: usize = 1_280;

/// Bytes per cell, without its text.
const CELL: usize = 64;

/// Imports up to this size have memory apart from that of larger ones, and never wait for them.
const SMALL: usize = 1 << 20;

/// The memory for the rows of all small imports.
const SMALL_BUDGET_MIB: u16 = 16;

/// The memory for the rows of all large imports. The largest take all of it.
const LARGE_BUDGET_MIB: u16 = 64;

/// The memory for the rows of all imports.
pub struct ImportMemory {
    small: MemoryBudget,
    large: MemoryBudget,
}

/// How much an import holds.
#[derive(Clone, Copy, Debug)]
pub struct ImportSize {
    rows: usize,
    cells: usize,
    /// Bytes of text that the memory for the file does not cover.
    text: usize,
}

impl ImportSize {
    /// An upper bound from the number of separators. `None` for a workbook, which is compressed.
    pub fn at_most(kind: FormatKind, body: &[u8]) -> Option<Self> {
        let count = |wanted: &[u8]| body.iter().filter(|byte| wanted.contains(byte)).count() + 1;
        let (rows, cells) = match kind {
            FormatKind::Xlsx => return None,
            FormatKind::Csv => (count(b"\r\n"), count(b",\r\n")),
            FormatKind::Ndjson => (count(b"\n"), 0),
            FormatKind::Json => (count(b","), 0),
        };
        Some(Self { rows: rows.min(MOST_ROWS), cells: cells.min(MOST_CELLS), text: 0 })
    }

    /// The size of the rows of a workbook, whose texts were compressed in the file.
    pub fn of_workbook(rows: &[ImportRow]) -> Self {
        let cells = rows.iter().filter_map(|row| match &row.content.as_ref().ok()?.members {
            RowMembers::Cells { cells, .. } => Some(cells),
            RowMembers::Whole(_) => None,
        });
        let (mut count, mut text) = (0, 0);
        for cell in cells.flatten() {
            count += 1;
            text += cell.as_written().map_or(0, str::len);
        }
        Self { rows: rows.len(), cells: count, text }
    }

    /// The memory that it takes, in bytes.
    pub const fn bytes(self, mode: ImportMode) -> usize {
        let row = match mode {
            ImportMode::All => ROW_OF_ALL,
            ImportMode::Each => ROW,
        };
        self.rows * row + self.cells * CELL + self.text
    }
}

impl ImportMemory {
    pub fn new() -> Self {
        Self {
            small: MemoryBudget::of_mib("small_imports", SMALL_BUDGET_MIB),
            large: MemoryBudget::of_mib("large_imports", LARGE_BUDGET_MIB),
        }
    }

    /// Returns the budgets of memory.
    pub const fn budgets(&self) -> [&MemoryBudget; 2] {
        [&self.small, &self.large]
    }

    /// Reserves bytes.
    ///
    /// # Errors
    /// 503 when the memory stays used up.
    pub async fn reserve(&self, bytes: usize) -> Result<MemoryReservation, Problem> {
        let budget = if bytes <= SMALL { &self.small } else { &self.large };
        budget.reserve(bytes).await
    }
}

#[cfg(test)]
mod tests {
    use application::ImportMode;
    use application::table::FormatKind;

    use super::ImportSize;

    #[test]
    fn an_import_is_measured_by_its_rows_and_cells() {
        let size = |kind, body: &str| {
            let size = ImportSize::at_most(kind, body.as_bytes()).unwrap();
            (size.rows, size.cells)
        };
        assert_eq!(size(FormatKind::Csv, "a,b\n1,2\n3,4"), (3, 6));
        assert_eq!(size(FormatKind::Ndjson, "{}\n{\"a\":1,\"b\":2}"), (2, 0));
        assert_eq!(size(FormatKind::Json, "[{},{}]"), (2, 0));
        assert!(ImportSize::at_most(FormatKind::Xlsx, b"PK").is_none());
        let digits = "1\n".repeat(99_999);
        let size = ImportSize::at_most(FormatKind::Csv, digits.as_bytes()).unwrap();
        assert!(size.bytes(ImportMode::Each) > 50 << 20, "far more than the bytes of the file");
        assert!(size.bytes(ImportMode::All) > size.bytes(ImportMode::Each));
    }
}
