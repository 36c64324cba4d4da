//! Comma-separated values (RFC 4180), in UTF-8.

use std::io;

use ::csv::{ReaderBuilder, StringRecord, Terminator, Writer, WriterBuilder};
use application::table::Cell;
use application::{ImportRow, ItemContent};
use bytes::Bytes;
use domain::Collection;

use super::sheet::{SheetReader, most_columns, require_columns};
use super::{FileError, Header, members_of};

/// The byte order mark, by which some programs know UTF-8.
pub const BOM: &str = "\u{feff}";

/// Writes the first row.
pub fn header(header: &Header, has_bom: bool) -> Vec<u8> {
    let mut out = if has_bom { BOM.as_bytes().to_vec() } else { Vec::new() };
    out.extend(written(|writer| writer.write_record(header.names.iter())));
    out
}

/// Writes items as rows.
///
/// # Errors
/// When a stored item cannot be read.
pub fn rows(header: &Header, items: &[ItemContent]) -> io::Result<Vec<u8>> {
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

/// Writes to memory, where nothing fails.
fn written(write: impl FnOnce(&mut Writer<Vec<u8>>) -> ::csv::Result<()>) -> Vec<u8> {
    let mut writer =
        WriterBuilder::new().terminator(Terminator::CRLF).flexible(true).from_writer(Vec::new());
    if let Err(error) = write(&mut writer) {
        tracing::error!(%error, "rows could not be written");
    }
    writer.into_inner().unwrap_or_default()
}

/// Reads the rows of a file.
///
/// # Errors
/// When it is not UTF-8, a quotation mark is missing, its first row cannot be used, or it holds too
/// much.
pub fn read(
    collection: Collection,
    body: &Bytes,
    most_bytes: usize,
) -> Result<Vec<ImportRow>, FileError> {
    let content = std::str::from_utf8(body).map_err(|error| {
        let at = error.valid_up_to();
        FileError::Malformed(format!(
            "The file is not UTF-8: byte {at} is wrong. Save it as \"CSV UTF-8\"."
        ))
    })?;
    let content = content.strip_prefix(BOM).unwrap_or(content);
    scan(content, most_columns(collection))?;
    let mut reader =
        ReaderBuilder::new().has_headers(false).flexible(true).from_reader(content.as_bytes());
    let malformed =
        |error: ::csv::Error| FileError::Malformed(format!("The file is not CSV: {error}."));
    let mut names = StringRecord::new();
    if !reader.read_record(&mut names).map_err(malformed)? {
        return Err(FileError::Malformed("The file is empty.".to_owned()));
    }
    let names: Vec<_> = names.iter().map(str::to_owned).collect();
    let mut sheet = SheetReader::new(collection, &names, most_bytes)?;
    let mut record = StringRecord::new();
    let mut number = 0;
    while reader.read_record(&mut record).map_err(malformed)? {
        number += 1;
        sheet.add(number, record.iter().map(|cell| Cell::sent(cell.to_owned())).collect())?;
    }
    Ok(sheet.finish())
}

/// Where a scan of a file is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the beginning of a cell.
    Start,
    /// In a cell without quotation marks around it.
    Plain,
    /// Between quotation marks.
    Quoted,
    /// Behind a quotation mark that closes a cell, unless another one follows.
    Closed,
}

/// Refuses what the reader would take for something else than its author: a cell that goes on behind
/// its closing quotation mark, or one without any. And rows of too many cells, before there is
/// anything of them in memory.
fn scan(content: &str, most: usize) -> Result<(), FileError> {
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

fn unbalanced(line: u64) -> FileError {
    FileError::Malformed(format!(
        "Before line {line} or in it, a quotation mark is missing: a cell that begins with one ends with one, and those within it are doubled."
    ))
}
