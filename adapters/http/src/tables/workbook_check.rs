//! Checks of a workbook before its reader sees it. The reader reserves memory for as many strings
//! as a file says that it has, and computes with whatever places of cells it names.

use std::io::{self, Cursor, Read as _};

use bytes::Bytes;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use zip::ZipArchive;

use super::FileError;
use super::sheet::MOST_CELLS;

/// Most rows of a sheet, and most columns (Excel's own limits).
pub const SHEET_ROWS: u32 = 1_048_576;
const SHEET_COLUMNS: u32 = 16_384;

/// Checks all parts of a workbook, and counts what they unpack to: its own word on it may be wrong.
///
/// # Errors
/// When it is no archive, unpacks to more than so many bytes, or a part says of itself what cannot
/// be.
pub fn check(body: &Bytes, most_bytes: usize) -> Result<(), FileError> {
    let malformed = |error: &dyn std::fmt::Display| {
        FileError::Malformed(format!("The file is no workbook: {error}."))
    };
    let mut archive = ZipArchive::new(Cursor::new(body)).map_err(|error| malformed(&error))?;
    let mut left = most_bytes;
    for index in 0..archive.len() {
        let file = archive.by_index(index).map_err(|error| malformed(&error))?;
        let mut part = Vec::new();
        io::copy(&mut file.take(left as u64 + 1), &mut part).map_err(|error| malformed(&error))?;
        left = left.checked_sub(part.len()).ok_or_else(|| too_large(most_bytes))?;
        check_part(&part)?;
    }
    Ok(())
}

/// The error of a workbook that holds too much.
pub fn too_large(most_bytes: usize) -> FileError {
    FileError::TooMuch(format!(
        "The workbook unpacks to more than {most_bytes} bytes; send it in parts."
    ))
}

/// Checks the attributes of a part by which its reader computes, and counts its strings. It is
/// parsed as its reader parses it. Where its characters take more than a byte each, it cannot be
/// checked here, and no program writes it so.
fn check_part(part: &[u8]) -> Result<(), FileError> {
    let start = &part[..part.len().min(4)];
    if start.starts_with(b"\xff\xfe")
        || start.starts_with(b"\xfe\xff")
        || (start.contains(&b'<') && start.contains(&0))
    {
        return Err(FileError::Malformed("The workbook is not UTF-8; save it again.".to_owned()));
    }
    let mut parser = Reader::from_reader(part);
    let config = parser.config_mut();
    (config.check_end_names, config.expand_empty_elements) = (false, true);
    let (mut buffer, mut strings) = (Vec::new(), 0);
    loop {
        buffer.clear();
        match parser.read_event_into(&mut buffer) {
            Ok(Event::Start(element)) => {
                check_element(&element)?;
                strings += usize::from(element.local_name().as_ref() == "si");
            }
            // What is no XML, such as an image, is read no further by anybody.
            Ok(Event::Eof) | Err(_) => return Ok(()),
            Ok(_) => {}
        }
        if strings > MOST_CELLS {
            return Err(FileError::TooMuch(format!(
                "The workbook has more than {MOST_CELLS} strings; send it in parts."
            )));
        }
    }
}

fn check_element(element: &BytesStart<'_>) -> Result<(), FileError> {
    let own = element.local_name();
    let refused = |name: &str, value: &str| {
        let value: String = value.chars().take(40).collect();
        FileError::Malformed(format!("The workbook cannot be read: `{name}` is `{value}`."))
    };
    for attribute in element.attributes() {
        let attribute = attribute.map_err(|_| refused("an attribute", own.as_ref()))?;
        let (name, value) = (attribute.key.local_name(), attribute.value.as_ref());
        if !attribute.key.as_ref().bytes().all(is_of_name) {
            return Err(refused("an attribute", attribute.key.as_ref()));
        }
        let is_possible = match (own.as_ref(), name.as_ref()) {
            ("sst", "uniqueCount") => {
                number(value).is_some_and(|count| count as usize <= MOST_CELLS)
            }
            ("row", "r") => number(value).is_some_and(|row| (1..=SHEET_ROWS).contains(&row)),
            ("c", "r") => place(value).is_some(),
            ("dimension", "ref") => is_range(value),
            _ => true,
        };
        if !is_possible {
            return Err(refused(name.as_ref(), value));
        }
    }
    Ok(())
}

const fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'-' | b'.') || byte >= 0x80
}

/// A number of few digits.
fn number(written: &str) -> Option<u32> {
    let is_short = (1..=9).contains(&written.len()) && written.bytes().all(|b| b.is_ascii_digit());
    if is_short { written.parse().ok() } else { None }
}

/// The row and the column of a cell such as `B7`.
fn place(written: &str) -> Option<(u32, u32)> {
    let letters = written.bytes().take_while(u8::is_ascii_uppercase).count();
    if !(1..=3).contains(&letters) {
        return None;
    }
    let column = written[..letters]
        .bytes()
        .fold(0, |column, letter| column * 26 + u32::from(letter - b'A') + 1);
    let row = number(&written[letters..])?;
    ((1..=SHEET_ROWS).contains(&row) && column <= SHEET_COLUMNS).then_some((row, column))
}

/// A cell, or a range whose end is not before its beginning.
fn is_range(written: &str) -> bool {
    let mut ends = written.splitn(2, ':').map(place);
    match (ends.next().flatten(), ends.next()) {
        (Some(_), None) => true,
        (Some((row, column)), Some(Some((last_row, last_column)))) => {
            row <= last_row && column <= last_column
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{check_part, is_range, place};

    #[test]
    fn places_lie_within_a_sheet() {
        assert_eq!(place("B7"), Some((7, 2)));
        assert_eq!(place("XFD1048576"), Some((1_048_576, 16_384)));
        for wrong in ["", "A", "7", "A0", "XFE1", "ZZZZ1", "A1048577", "A99999999999", "a1", "A1 "]
        {
            assert_eq!(place(wrong), None, "{wrong}");
        }
        assert!(is_range("A1") && is_range("A1:B2"));
        assert!(!is_range("B2:A1") && !is_range("A1:ZZZZ9") && !is_range("A1:B2:C3"));
    }

    #[test]
    fn what_a_part_says_of_itself_is_possible() {
        for (part, is_possible) in [
            (r#"<sst count="2" uniqueCount="1"><si/></sst>"#, true),
            (r#"<sst uniqueCount="1000000000000000"><si/></sst>"#, false),
            (r#"<sst uniqueCount="18446744073709551615"/>"#, false),
            (r#"<sst uniqueCount="&#57;9999"/>"#, false),
            (r#"<sheetData><row r="3"><c r="A3"/></row></sheetData>"#, true),
            (r#"<sheetData><row r="4294967295"/></sheetData>"#, false),
            (r#"<sheetData><c r="ZZZZZZZZZZ1"/></sheetData>"#, false),
            (r#"<dimension ref="XFD1048576:A1"/><sheetData/>"#, false),
            ("<\0s\0", false),
            // What looks like an attribute, and is none.
            (r#"<!-- =" --><sst uniqueCount="1000000000000000" xmlns="x"/>"#, false),
            (r#"<![CDATA[ =" ]]><sst uniqueCount="1000000000000000" xmlns="x"/>"#, false),
            (r#"<?x =" ?><sst uniqueCount="1000000000000000" xmlns="x"/>"#, false),
            (r#"<a>="</a><sst uniqueCount="1000000000000000" xmlns="x"/>"#, false),
            (r#"<sst =" uniqueCount="1000000000000000" xmlns="x" "/>"#, false),
            (r#"<sst x=y uniqueCount="1000000000000000"/>"#, false),
            (r#"<sst x=">" uniqueCount="1000000000000000"/>"#, false),
            (r#"<sst uniqueCount="1" uniqueCount="1000000000000000"/>"#, false),
            (r#"<x:sst uniqueCount="2000001"><si/></x:sst>"#, false),
            (
                r#"<sheetData><c r="A1"><is><t>see ref="Annex 3" r="x"</t></is></c></sheetData>"#,
                true,
            ),
            (r#"<sst uniqueCount="1"><si><t>uniqueCount="x"</t></si></sst>"#, true),
            ("\u{89}PNG = \"", true),
        ] {
            assert_eq!(check_part(part.as_bytes()).is_ok(), is_possible, "{part}");
        }
    }
}
