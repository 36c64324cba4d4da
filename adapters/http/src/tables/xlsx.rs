//! Excel workbooks (ISO/IEC 29500, `SpreadsheetML`).

use std::io::{self, Cursor, Seek, Write};
use std::ops::Range;
use std::path::Path;

use application::table::{Cell, MOST_UNITS, is_exact_in_a_double, truncated};
use application::{ImportRow, ItemContent};
use bytes::Bytes;
use calamine::{
    DataRef, ExcelDateTime, Reader as _, Sheet, SheetType, SheetVisible, Xlsx,
    XlsxCellFormulaMetadataRecord, XlsxError as ReadError, open_workbook_from_rs,
};
use domain::Collection;
use rust_xlsxwriter::{Format, Workbook, Worksheet, XlsxError};
use thiserror::Error;

use super::sheet::{SheetReader, most_columns, require_columns};
use super::workbook_check::{self, SHEET_ROWS, too_large};
use super::{HeaderRow, malformed_file, members_of};
use crate::problem::{Problem, Result};

/// The days of a workbook: 1900 to 9999.
const DAYS: Range<f64> = 0.0..2_958_466.0;

/// Milliseconds.
const DAY: f64 = 86_400_000.0;

#[derive(Debug, Error)]
pub enum WriteError {
    /// The items exceed a limit of the format.
    #[error("{0}")]
    DoesNotFit(String),
    #[error("cannot write the workbook: {0}")]
    Failed(#[from] io::Error),
    #[error("cannot write the workbook: {0}")]
    Refused(#[from] XlsxError),
}

/// Writes through temporary files: the size takes no memory.
pub struct WorkbookWriter {
    workbook: Workbook,
    header: HeaderRow,
    row: u32,
}

impl WorkbookWriter {
    /// Creates a workbook with temporary files in `folder`.
    pub fn new(name: &str, header: HeaderRow, folder: &Path) -> Result<Self, WriteError> {
        let mut workbook = Workbook::new();
        workbook.set_tempdir(folder)?;
        let sheet = workbook.add_worksheet_with_constant_memory()?;
        sheet.set_name(name)?.set_freeze_panes(1, 0)?;
        let bold = Format::new().set_bold();
        for (place, name) in (0..).zip(header.names.iter()) {
            require_length(name)?;
            sheet.write_string_with_format(0, place, name, &bold)?;
        }
        Ok(Self { workbook, header, row: 0 })
    }

    pub fn add(&mut self, items: &[ItemContent]) -> Result<(), WriteError> {
        for item in items {
            let members = members_of(item)?;
            self.row += 1;
            if self.row == SHEET_ROWS {
                let detail = format!(
                    "A sheet has at most {SHEET_ROWS} rows. Select fewer items, or export them as CSV."
                );
                return Err(WriteError::DoesNotFit(detail));
            }
            let sheet = self.workbook.worksheet_from_index(0)?;
            let cells = self.header.cells(item, &members);
            for (place, cell) in (0..).zip(&cells) {
                write(sheet, self.row, place, cell)?;
            }
        }
        Ok(())
    }

    pub fn finish(mut self, to: impl Write + Seek + Send) -> Result<(), WriteError> {
        Ok(self.workbook.save_to_writer(to)?)
    }
}

/// Writes numbers beyond double precision as strings, so that no digit is lost.
fn write(sheet: &mut Worksheet, row: u32, place: u16, cell: &Cell<'_>) -> Result<(), WriteError> {
    let number = match cell {
        Cell::Number(digits) if is_exact_in_a_double(digits) => digits.parse::<f64>().ok(),
        _ => None,
    };
    match (number, cell) {
        (Some(number), _) => {
            sheet.write_number(row, place, number)?;
        }
        (None, Cell::Number(text) | Cell::String(text)) => {
            sheet.write_string(row, place, truncated(text))?;
        }
        (None, Cell::Empty) => {}
    }
    Ok(())
}

/// Refuses long names: truncated, two could be equal.
fn require_length(name: &str) -> Result<(), WriteError> {
    if name.encode_utf16().count() <= MOST_UNITS {
        return Ok(());
    }
    let begins: String = name.chars().take(40).collect();
    let detail = format!(
        "The name of the member `{begins}…` exceeds the {MOST_UNITS} characters of a cell. Exclude it with `fields`, or export the items as CSV."
    );
    Err(WriteError::DoesNotFit(detail))
}

/// Reads the first visible sheet. `most_bytes` limits the unpacked size.
pub fn read(collection: Collection, body: &Bytes, most_bytes: usize) -> Result<Vec<ImportRow>> {
    workbook_check::check(body, most_bytes)?;
    let mut workbook: Xlsx<_> =
        open_workbook_from_rs(Cursor::new(body)).map_err(|error: ReadError| malformed(&error))?;
    let is_shown = |sheet: &&Sheet| {
        sheet.visible == SheetVisible::Visible && sheet.typ == SheetType::WorkSheet
    };
    let Some(shown) = workbook.sheets_metadata().iter().find(is_shown).cloned() else {
        return Err(malformed_file("The workbook has no visible sheet."));
    };
    let mut cells =
        workbook.worksheet_cells_reader(&shown.name).map_err(|error| malformed(&error))?;
    let mut sheet = None;
    let most_columns = most_columns(collection);
    let (mut row, mut current, mut left) = (0, Vec::new(), most_bytes);
    loop {
        let cell = cells.next_cell_with_formula_metadata().map_err(|error| malformed(&error))?;
        let place = cell.as_ref().map(|cell| cell.pos);
        if place.is_none_or(|(next, _)| next != row) && !current.is_empty() {
            add(collection, &mut sheet, row, std::mem::take(&mut current), most_bytes)?;
        }
        let (Some(cell), Some((next, column))) = (cell, place) else { break };
        let column = column as usize;
        if next < row {
            return Err(malformed_file(format!(
                "Row {} is out of order after row {}.",
                next + 1,
                row + 1
            )));
        }
        row = next;
        let value = value_of(&cell)?;
        // Many cells may share a string.
        let size = value.as_written().map_or(0, str::len);
        left = left.checked_sub(size).ok_or_else(|| too_large(most_bytes))?;
        if value != Cell::Empty {
            require_columns(most_columns, column + 1)?;
            current.resize(current.len().max(column + 1), Cell::Empty);
            if current[column] != Cell::Empty {
                return Err(malformed_cell(cell.pos, "is given more than once"));
            }
            current[column] = value;
        }
    }
    let (_, sheet) = sheet.ok_or_else(|| malformed_file("The first sheet is empty."))?;
    Ok(sheet.rows)
}

/// Adds a row. The first row with content names the columns.
fn add(
    collection: Collection,
    sheet: &mut Option<(u32, SheetReader)>,
    row: u32,
    cells: Vec<Cell<'static>>,
    most_bytes: usize,
) -> Result<()> {
    if let Some((first, sheet)) = sheet {
        // Excel counts rows from 1.
        let line = u64::from(row) + 1;
        return sheet.add((u64::from(row - *first), line), cells);
    }
    let name = |cell: &Cell<'_>| cell.as_written().unwrap_or_default().to_owned();
    let names: Vec<_> = cells.iter().map(name).collect();
    *sheet = Some((row, SheetReader::new(collection, &names, most_bytes)?));
    Ok(())
}

fn malformed(error: &ReadError) -> Problem {
    malformed_file(format!("The workbook cannot be read: {error}."))
}

fn malformed_cell((row, column): (u32, u32), error: &str) -> Problem {
    malformed_file(format!("The cell in row {} and column {} {error}.", row + 1, column + 1))
}

fn value_of(cell: &XlsxCellFormulaMetadataRecord<'_>) -> Result<Cell<'static>> {
    // Some programs leave the results of formulas to Excel. An empty cell would remove a member.
    if cell.formula.is_some() && matches!(cell.value, DataRef::Empty) {
        let error = "has a formula without a result. Open the file in Excel and save it";
        return Err(malformed_cell(cell.pos, error));
    }
    value(&cell.value).map_err(|error| malformed_cell(cell.pos, error))
}

/// Converts a cell to its text in CSV.
fn value(data: &DataRef<'_>) -> Result<Cell<'static>, &'static str> {
    Ok(match data {
        DataRef::Empty => Cell::Empty,
        DataRef::Int(number) => Cell::Number(number.to_string().into()),
        DataRef::Float(number) => float(*number)?,
        DataRef::String(string) => Cell::sent(string.clone()),
        DataRef::SharedString(string) => Cell::sent((*string).to_owned()),
        DataRef::Bool(value) => Cell::sent(value.to_string()),
        DataRef::DateTime(time) => date(time)?,
        DataRef::DateTimeIso(time) => {
            Cell::sent(time.strip_suffix("T00:00:00").unwrap_or(time).to_owned())
        }
        DataRef::DurationIso(duration) => Cell::sent(duration.clone()),
        DataRef::Error(_) => return Err("contains an error such as #REF!. Correct its formula"),
    })
}

/// Writes whole numbers without a decimal point.
fn float(number: f64) -> Result<Cell<'static>, &'static str> {
    if !number.is_finite() {
        return Err("contains a number that is too large. Enter it as text");
    }
    let digits = number.to_string();
    if number.fract() == 0.0 && !is_exact_in_a_double(&digits) {
        return Err("contains a number with more digits than a workbook keeps. Enter it as text");
    }
    Ok(Cell::Number(digits.into()))
}

/// Writes `YYYY-MM-DD`, with the time of day if present, or the time alone. A duration stays a
/// number of days.
fn date(time: &ExcelDateTime) -> Result<Cell<'static>, &'static str> {
    if time.is_duration() {
        return float(time.as_f64());
    }
    if !DAYS.contains(&time.as_f64()) {
        return Err("contains an invalid date. Correct it");
    }
    let (year, month, day, hour, minute, second, milli) = time.to_ymd_hms_milli();
    let date = format!("{year:04}-{month:02}-{day:02}");
    let fraction = if milli > 0 { format!(".{milli:03}") } else { String::new() };
    let clock = format!("{hour:02}:{minute:02}:{second:02}{fraction}");
    let has_time = (time.as_f64().fract() * DAY).round() > 0.0;
    // A time without a date has a meaningless base day.
    Ok(Cell::sent(match (time.as_f64() < 1.0, has_time) {
        (true, _) => clock,
        (false, true) => format!("{date}T{clock}"),
        (false, false) => date,
    }))
}

#[cfg(test)]
mod tests {
    use application::RowMembers;
    use application::table::Cell;
    use bytes::Bytes;
    use domain::Collection;
    use rust_xlsxwriter::{ExcelDateTime, Format, Workbook};

    use super::{MOST_UNITS, read};

    #[test]
    fn times_of_day_have_no_date() {
        let cells = imported(|sheet| {
            let format = Format::new().set_num_format("h:mm");
            sheet.write_number_with_format(1, 0, 0.5, &format).unwrap();
            sheet.write_number_with_format(1, 1, 0.500_005_787_037, &format).unwrap();
        });
        let written: Vec<_> = cells.iter().filter_map(Cell::as_written).collect();
        assert_eq!(written, ["12:00:00", "12:00:00.500"]);
    }

    #[test]
    fn a_cell_holds_the_beginning_of_a_text_that_is_too_long_for_it() {
        let digits = format!("1{}", "0".repeat(40_000));
        let cells = imported(|sheet| {
            let text = "x".repeat(41_203);
            super::write(sheet, 1, 0, &Cell::String(text.into())).unwrap();
            super::write(sheet, 1, 1, &Cell::Number(digits.into())).unwrap();
            super::write(sheet, 1, 2, &Cell::String("y".repeat(MOST_UNITS).into())).unwrap();
        });
        let written: Vec<_> = cells.iter().filter_map(Cell::as_written).collect();
        assert!(written[0].ends_with("x… [truncated: 41,203 characters]"));
        assert!(written[1].ends_with("0… [truncated: 40,001 characters]"));
        assert_eq!(written[2], "y".repeat(MOST_UNITS));
        assert!(written.iter().all(|text| text.encode_utf16().count() == MOST_UNITS));
    }

    #[test]
    fn the_first_sheet_that_is_shown_is_read() {
        let mut workbook = Workbook::new();
        workbook.add_worksheet().set_hidden(true).write_string(0, 0, "list").unwrap();
        let sheet = workbook.add_worksheet().set_active(true);
        sheet.write_string(0, 0, "a").unwrap().write_string(1, 0, "x").unwrap();
        let body = Bytes::from(workbook.save_to_buffer().unwrap());
        let rows = read(Collection::known("files"), &body, 1 << 20).unwrap();
        assert_eq!(rows.len(), 1);
    }

    /// The cells of the row below the names `a`, `b`, … as they are imported.
    fn imported(write: impl FnOnce(&mut rust_xlsxwriter::Worksheet)) -> Vec<Cell<'static>> {
        let mut workbook = Workbook::new();
        let sheet = workbook.add_worksheet();
        for (place, name) in (0..).zip(["a", "b", "c", "d", "e", "f"]) {
            sheet.write_string(0, place, name).unwrap();
        }
        write(sheet);
        let body = Bytes::from(workbook.save_to_buffer().unwrap());
        let mut rows = read(Collection::known("files"), &body, 1 << 20).unwrap();
        match rows.remove(0).content.unwrap().members {
            RowMembers::Cells { cells, .. } => cells,
            RowMembers::Whole(members) => panic!("{members:?}"),
        }
    }

    #[test]
    fn cells_of_every_kind_are_read_as_people_see_them() {
        let date = |date| ExcelDateTime::parse_from_str(date).unwrap();
        let cells = imported(|sheet| {
            let format = Format::new().set_num_format("yyyy-mm-dd hh:mm:ss");
            sheet.write_datetime_with_format(1, 0, date("2026-02-28"), &format).unwrap();
            sheet.write_datetime_with_format(1, 1, date("2026-02-28T13:05:09"), &format).unwrap();
            sheet.write_boolean(1, 2, true).unwrap();
            sheet.write_number(1, 3, 1234.5).unwrap();
            sheet.write_number(1, 4, 3.0).unwrap();
            sheet.write_string(1, 5, "12345678901234567890").unwrap();
        });
        let written: Vec<_> = cells.iter().filter_map(Cell::as_written).collect();
        assert_eq!(
            written,
            ["2026-02-28", "2026-02-28T13:05:09", "true", "1234.5", "3", "12345678901234567890"]
        );
        let encoded = |place: usize| cells[place].encoded(None).unwrap();
        assert_eq!((encoded(2), encoded(4)), ("true".to_owned(), "3".to_owned()));
        assert_eq!(encoded(5), "12345678901234567890", "every digit of a number in a cell of text");
    }
}
