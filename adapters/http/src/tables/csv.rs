//! Comma-separated values (RFC 4180), in UTF-8.

use std::io;

use ::csv::{ReaderBuilder, StringRecord, Terminator, Writer, WriterBuilder};
use application::table::Cell;
use application::{ImportRow, ItemContent};
use bytes::Bytes;
use domain::Collection;

use super::sheet::{SheetReader, most_columns, require_columns};
use super::{HeaderRow, malformed_file, members_of};
use crate::problem::{Problem, Result};

/// Byte order mark: some programs detect UTF-8 by it.
pub const BOM: &str = "\u{feff}";

pub fn header(header: &HeaderRow, has_bom: bool) -> Vec<u8> {
    let mut out = if has_bom { BOM.as_bytes().to_vec() } else { Vec::new() };
    out.extend(written(|writer| writer.write_record(header.names.iter())));
    out
}

pub fn rows(header: &HeaderRow, items: &[ItemContent]) -> io::Result<Vec<u8>> {
    let members = items.iter().map(members_of).collect::<io::Result<Vec<_>>>()?;
    Ok(written(|writer| {
        for (item, members) in items.iter().zip(&members) {
            let cells = header.cells(item, members);
            let cells = cells.iter().map(|cell| cell.as_written().unwrap_or_default());
            writer.write_record(cells)?;
        }
        Ok(())
    }))
}

/// Writes to memory, which cannot fail.
fn written(write: impl FnOnce(&mut Writer<Vec<u8>>) -> ::csv::Result<()>) -> Vec<u8> {
    let mut writer =
        WriterBuilder::new().terminator(Terminator::CRLF).flexible(true).from_writer(Vec::new());
    if let Err(error) = write(&mut writer) {
        tracing::error!(%error, "cannot write rows");
    }
    writer.into_inner().unwrap_or_default()
}

pub fn read(collection: Collection, body: &Bytes, most_bytes: usize) -> Result<Vec<ImportRow>> {
    let content = std::str::from_utf8(body).map_err(|error| {
        let at = error.valid_up_to();
        malformed_file(format!(
            "The file is not valid UTF-8 at byte {at}. Save it as \"CSV UTF-8\"."
        ))
    })?;
    let content = content.strip_prefix(BOM).unwrap_or(content);
    scan(content, most_columns(collection))?;
    let mut reader =
        ReaderBuilder::new().has_headers(false).flexible(true).from_reader(content.as_bytes());
    let malformed =
        |error: ::csv::Error| malformed_file(format!("The file is not valid CSV: {error}."));
    let mut names = StringRecord::new();
    if !reader.read_record(&mut names).map_err(malformed)? {
        return Err(malformed_file("The file is empty."));
    }
    let names: Vec<_> = names.iter().map(str::to_owned).collect();
    let mut sheet = SheetReader::new(collection, &names, most_bytes)?;
    let mut record = StringRecord::new();
    let (mut number, mut lines) = (0, Lines::default());
    while reader.read_record(&mut record).map_err(malformed)? {
        number += 1;
        let begins = if let Some(position) = record.position() { position.byte() } else { 0 };
        let begins = usize::try_from(begins).unwrap_or(usize::MAX);
        let line = lines.of(content.as_bytes(), begins);
        let cells = record.iter().map(|cell| Cell::sent(cell.to_owned())).collect();
        sheet.add((number, line), cells)?;
    }
    Ok(sheet.rows)
}

/// Counts lines up to a position. A carriage return ends a line, also before a line feed.
#[derive(Default)]
struct Lines {
    ended: u64,
    place: usize,
}

impl Lines {
    /// Line number of a record, from 1. The reader itself counts only line feeds, and counts blank
    /// lines as part of the next record.
    fn of(&mut self, content: &[u8], record: usize) -> u64 {
        let is_end = |place: &usize| match content[*place] {
            b'\n' => true,
            b'\r' => content.get(*place + 1) != Some(&b'\n'),
            _ => false,
        };
        let blank = |byte: &&u8| matches!(byte, b'\r' | b'\n');
        let record = record.min(content.len());
        let begins = record + content[record..].iter().take_while(blank).count();
        self.ended += (self.place..begins).filter(is_end).count() as u64;
        self.place = self.place.max(begins);
        self.ended + 1
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Plain,
    Quoted,
    /// After a quotation mark that closes the cell, unless another one follows.
    Closed,
}

/// Refuses cells that the reader would misread: with text after the closing quotation mark, or
/// without one. Also limits cells per row before they take memory.
fn scan(content: &str, most: usize) -> Result<()> {
    let (mut state, mut line, mut cells) = (State::Start, 1_u64, 1);
    for byte in content.bytes() {
        line += u64::from(byte == b'\n');
        state = match (state, byte) {
            (State::Quoted, b'"') => State::Closed,
            (State::Quoted, _) | (State::Closed | State::Start, b'"') => State::Quoted,
            (_, b',') => {
                cells += 1;
                require_columns(most, cells)?;
                State::Start
            }
            (_, b'\r' | b'\n') => {
                cells = 1;
                State::Start
            }
            (State::Closed, _) => return Err(unbalanced(line)),
            _ => State::Plain,
        };
    }
    if state == State::Quoted { Err(unbalanced(line)) } else { Ok(()) }
}

fn unbalanced(line: u64) -> Problem {
    malformed_file(format!(
        "A quotation mark is missing in or before line {line}. A cell that starts with a quotation mark must end with one. Double the quotation marks within it."
    ))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use domain::Collection;

    use super::read;

    #[test]
    fn a_record_is_identified_by_its_number_and_first_line() {
        let places = |file: &'static str| {
            let body = Bytes::from_static(file.as_bytes());
            let rows = read(Collection::known("files"), &body, 1 << 20).unwrap();
            rows.iter().map(|row| (row.number, row.line.unwrap())).collect::<Vec<_>>()
        };
        assert_eq!(places("a\n1\n2\n"), [(1, 2), (2, 3)]);
        assert_eq!(places("\u{feff}a\r\n1\r\n\r\n2"), [(1, 2), (2, 4)], "a blank line");
        assert_eq!(places("\n\na\n\n1\n"), [(1, 5)], "blank lines in front");
        assert_eq!(places("a\r1\r\r2\r"), [(1, 2), (2, 4)], "ends as of old Macs");
        assert_eq!(places("\"a\nb\"\n\"1\n2\"\n3\n"), [(1, 3), (2, 5)], "lines within cells");
        assert_eq!(places("a,b\n,\n1,2\n"), [(2, 3)], "a row without content");
    }
}
