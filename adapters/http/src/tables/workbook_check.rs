//! Checks of a workbook before its reader sees it. The reader reserves memory for as many strings
//! as a file says that it has, and computes with whatever places of cells it names.

use std::io::{self, Cursor, Read as _};

use bytes::Bytes;
use zip::ZipArchive;

use super::FileError;

/// Most rows of a sheet, and most columns (Excel's own limits).
pub const SHEET_ROWS: u32 = 1_048_576;
const SHEET_COLUMNS: u32 = 16_384;

/// Checks all parts of a workbook, and counts what they unpack to: its own word on it may be wrong.
///
/// # Errors
/// When it is no archive, unpacks to more than so many bytes, or a part says of itself what cannot
/// be.
pub fn check(body: &Bytes, most_bytes: u64) -> Result<(), FileError> {
    let malformed = |error: &dyn std::fmt::Display| {
        FileError::Malformed(format!("The file is no workbook: {error}."))
    };
    let mut archive = ZipArchive::new(Cursor::new(body)).map_err(|error| malformed(&error))?;
    let mut left = most_bytes;
    for index in 0..archive.len() {
        let file = archive.by_index(index).map_err(|error| malformed(&error))?;
        let mut part = Vec::new();
        io::copy(&mut file.take(left + 1), &mut part).map_err(|error| malformed(&error))?;
        left = left.checked_sub(part.len() as u64).ok_or_else(|| too_large(most_bytes))?;
        check_part(&part)?;
    }
    Ok(())
}

/// The error of a workbook that holds too much.
pub fn too_large(most_bytes: u64) -> FileError {
    FileError::TooMuch(format!(
        "The workbook unpacks to more than {most_bytes} bytes; send it in parts."
    ))
}

/// Checks the attributes of a part by which its reader computes. Where its characters take more than
/// a byte each, they cannot be checked here, and no program writes it so.
fn check_part(part: &[u8]) -> Result<(), FileError> {
    let start = &part[..part.len().min(4)];
    if start.starts_with(b"\xff\xfe")
        || start.starts_with(b"\xfe\xff")
        || (start.contains(&b'<') && start.contains(&0))
    {
        return Err(FileError::Malformed("The workbook is not UTF-8; save it again.".to_owned()));
    }
    let is_sheet = contains(part, b"sheetData");
    for (name, value) in attributes(part) {
        let is_possible = match name {
            b"uniqueCount" => number(value).is_some_and(|count| count as usize <= part.len()),
            b"r" if is_sheet => {
                number(value).is_some_and(|row| (1..=SHEET_ROWS).contains(&row))
                    || place(value).is_some()
            }
            b"ref" if is_sheet => is_range(value),
            _ => true,
        };
        if !is_possible {
            let [name, value] = [name, &value[..value.len().min(40)]].map(String::from_utf8_lossy);
            return Err(FileError::Malformed(format!(
                "The workbook cannot be read: `{name}` is `{value}`."
            )));
        }
    }
    Ok(())
}

fn contains(part: &[u8], wanted: &[u8]) -> bool {
    part.windows(wanted.len()).any(|window| window == wanted)
}

/// The attributes of all elements: what stands before and within quotes behind a `=`.
fn attributes(part: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut rest = part;
    std::iter::from_fn(move || {
        loop {
            let equals = rest.iter().position(|byte| *byte == b'=')?;
            let before = rest[..equals].trim_ascii_end();
            let from =
                before.iter().rposition(|byte| !is_of_name(*byte)).map_or(0, |last| last + 1);
            let (name, behind) = (&before[from..], rest[equals + 1..].trim_ascii_start());
            rest = behind;
            if let Some((quote @ (b'"' | b'\''), quoted)) = behind.split_first() {
                let end = quoted.iter().position(|byte| byte == quote)?;
                rest = &quoted[end + 1..];
                return Some((name, &quoted[..end]));
            }
        }
    })
}

const fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'-' | b'.')
}

/// A number of few digits.
fn number(written: &[u8]) -> Option<u32> {
    let is_short = (1..=9).contains(&written.len()) && written.iter().all(u8::is_ascii_digit);
    if is_short { std::str::from_utf8(written).ok()?.parse().ok() } else { None }
}

/// The row and the column of a cell such as `B7`.
fn place(written: &[u8]) -> Option<(u32, u32)> {
    let letters = written.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
    if !(1..=3).contains(&letters) {
        return None;
    }
    let column = written[..letters]
        .iter()
        .fold(0, |column, letter| column * 26 + u32::from(letter - b'A') + 1);
    let row = number(&written[letters..])?;
    ((1..=SHEET_ROWS).contains(&row) && column <= SHEET_COLUMNS).then_some((row, column))
}

/// A cell, or a range whose end is not before its beginning.
fn is_range(written: &[u8]) -> bool {
    let mut ends = written.splitn(2, |byte| *byte == b':').map(place);
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
    use super::{attributes, check_part, is_range, place};

    #[test]
    fn attributes_are_found_however_they_are_written() {
        let part = br#"<a x = "1" y='2"' z:w="" >k=v</a><b uniqueCount="3"/>"#;
        let found: Vec<_> = attributes(part).collect();
        let expected: [(&[u8], &[u8]); 4] =
            [(b"x", b"1"), (b"y", b"2\""), (b"z:w", b""), (b"uniqueCount", b"3")];
        assert_eq!(found, expected);
    }

    #[test]
    fn places_lie_within_a_sheet() {
        assert_eq!(place(b"B7"), Some((7, 2)));
        assert_eq!(place(b"XFD1048576"), Some((1_048_576, 16_384)));
        for wrong in ["", "A", "7", "A0", "XFE1", "ZZZZ1", "A1048577", "A99999999999", "a1", "A1 "]
        {
            assert_eq!(place(wrong.as_bytes()), None, "{wrong}");
        }
        assert!(is_range(b"A1") && is_range(b"A1:B2"));
        assert!(!is_range(b"B2:A1") && !is_range(b"A1:ZZZZ9") && !is_range(b"A1:B2:C3"));
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
        ] {
            assert_eq!(check_part(part.as_bytes()).is_ok(), is_possible, "{part}");
        }
    }
}
