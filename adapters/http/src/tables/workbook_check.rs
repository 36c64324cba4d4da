//! Checks a workbook before its reader sees it. The reader trusts declared string counts and cell
//! positions, and reserves memory for them.

use std::io::{self, Cursor, Read as _};

use bytes::Bytes;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use zip::ZipArchive;

use super::sheet::MOST_CELLS;
use super::{malformed_file, too_much};
use crate::problem::{Problem, Result};

/// Excel's limits.
pub const SHEET_ROWS: u32 = 1_048_576;
const SHEET_COLUMNS: u32 = 16_384;

const DIRECTORY_HEADER: usize = 46;

/// Limits of an archive: entries, and bytes of their names, extra fields and comments.
const MOST_ENTRIES: usize = 10_000;
const MOST_DIRECTORY_BYTES: usize = 1 << 20;

const MOST_LEVELS: usize = 256;

/// Elements that the reader keeps or copies: their limit, and that of an attribute in bytes.
/// Excel allows 65,490 cell formats.
const KEPT: [(&str, usize, usize); 9] = [
    ("si", MOST_CELLS, usize::MAX),
    ("xf", 65_536, 512),
    ("font", 65_536, 512),
    ("name", usize::MAX, 512),
    ("fill", 65_536, 512),
    ("border", 65_536, 512),
    ("numFmt", 65_536, 512),
    ("sheet", 1_000, 512),
    ("Relationship", 10_000, 4_096),
];

/// Checks all parts and counts the unpacked bytes: the declared size may be wrong.
pub fn check(body: &Bytes, most_bytes: usize) -> Result<()> {
    let malformed = |error: &dyn std::fmt::Display| {
        malformed_file(format!("The file is not a workbook: {error}."))
    };
    // The reader searches for another container before the archive, possibly without end.
    if !body.starts_with(b"PK") {
        return Err(malformed(&"it is not a ZIP archive"));
    }
    require_small_directory(body)?;
    let mut archive = ZipArchive::new(Cursor::new(body)).map_err(|error| malformed(&error))?;
    // Overlapping parts would unpack the same bytes repeatedly.
    if archive.has_overlapping_files().map_err(|error| malformed(&error))? {
        return Err(malformed(&"its parts overlap"));
    }
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

/// Refuses an archive whose directory would take many times its size in memory. Counts every
/// entry signature that the reader could find.
fn require_small_directory(body: &[u8]) -> Result<()> {
    let (mut entries, mut bytes) = (0, 0);
    for header in body.windows(DIRECTORY_HEADER).filter(|header| header.starts_with(b"PK\x01\x02"))
    {
        entries += 1;
        bytes += [28, 30, 32]
            .map(|at| usize::from(u16::from_le_bytes([header[at], header[at + 1]])))
            .iter()
            .sum::<usize>();
        if entries > MOST_ENTRIES || bytes > MOST_DIRECTORY_BYTES {
            return Err(too_much("The workbook has too many parts. Split it."));
        }
    }
    Ok(())
}

pub fn too_large(most_bytes: usize) -> Problem {
    too_much(format!("The workbook unpacks to more than {most_bytes} bytes. Split it."))
}

/// Checks attributes that the reader computes with, and counts the kept elements. Parses the part
/// like the reader.
fn check_part(part: &[u8]) -> Result<()> {
    let mut parser = Reader::from_reader(part);
    let config = parser.config_mut();
    (config.check_end_names, config.expand_empty_elements) = (false, true);
    let (mut buffer, mut levels, mut counts) = (Vec::new(), 0_usize, [0; KEPT.len()]);
    loop {
        buffer.clear();
        match parser.read_event_into(&mut buffer) {
            Ok(Event::Start(element)) => {
                levels += 1;
                let own = element.local_name();
                let kept =
                    KEPT.iter().zip(&mut counts).find(|((name, ..), _)| *name == own.as_ref());
                check_element(&element, kept.as_ref().map(|((_, _, longest), _)| *longest))?;
                if let Some((&(name, most, _), count)) = kept {
                    *count += 1;
                    if *count > most {
                        return Err(too_many(name, most));
                    }
                }
            }
            Ok(Event::End(_)) => levels = levels.saturating_sub(1),
            // A part that is no XML, such as an image, is read no further.
            Ok(Event::Eof) | Err(_) => return Ok(()),
            Ok(_) => {}
        }
        if levels > MOST_LEVELS {
            return Err(too_many("levels", MOST_LEVELS));
        }
    }
}

fn too_many(name: &str, most: usize) -> Problem {
    too_much(format!("The workbook has more than {most} of `{name}`. Split it."))
}

/// Checks attributes that the reader computes with, and the length of kept ones.
fn check_element(element: &BytesStart<'_>, longest: Option<usize>) -> Result<()> {
    let own = element.local_name();
    if longest.is_none() && !["sst", "row", "c", "f", "dimension"].contains(&own.as_ref()) {
        return Ok(());
    }
    let refused = |name: &str, value: &str| {
        let value: String = value.chars().take(40).collect();
        malformed_file(format!("The workbook cannot be read: invalid `{name}` `{value}`."))
    };
    for attribute in element.attributes() {
        let attribute = attribute.map_err(|_| refused("attribute", own.as_ref()))?;
        let (name, value) = (attribute.key.local_name(), attribute.value.as_ref());
        if !attribute.key.as_ref().bytes().all(is_of_name) {
            return Err(refused("attribute", attribute.key.as_ref()));
        }
        let is_possible = match (own.as_ref(), name.as_ref()) {
            ("sst", "uniqueCount") => {
                number(value).is_some_and(|count| count as usize <= MOST_CELLS)
            }
            ("row", "r") => number(value).is_some_and(|row| (1..=SHEET_ROWS).contains(&row)),
            ("c", "r") => place(value).is_some(),
            ("dimension" | "f", "ref") => is_range(value),
            _ => longest.is_none_or(|longest| value.len() <= longest),
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

/// Parses at most nine digits, which fit `u32`.
fn number(written: &str) -> Option<u32> {
    let is_short = (1..=9).contains(&written.len()) && written.bytes().all(|b| b.is_ascii_digit());
    if is_short { written.parse().ok() } else { None }
}

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
    use std::io::{Cursor, Write as _};

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::{check, check_part, is_range, place, require_small_directory};

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
    fn entries_do_not_share_bytes() {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        for name in ["a", "b"] {
            archive.start_file(name, SimpleFileOptions::default()).unwrap();
            archive.write_all(b"<x/>").unwrap();
        }
        let mut body = archive.finish().unwrap().into_inner();
        assert!(check(&body.clone().into(), 1 << 10).is_ok());
        // The second entry of the directory is to be where the first one is.
        let second = body.windows(4).rposition(|window| window == b"PK\x01\x02").unwrap();
        body[second + 42..second + 46].fill(0);
        let refused = check(&body.into(), 1 << 10).unwrap_err();
        assert_eq!(refused.kind.code, "malformed-file");
        assert!(refused.detail.contains("overlap"), "{refused}");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let formats = "<xf/>".repeat(65_537);
        let font = format!(r#"<font><name val="{}"/></font>"#, "x".repeat(513));
        let levels = "<a>".repeat(257);
        for part in [formats, font, levels] {
            assert!(check_part(part.as_bytes()).is_err(), "{}", &part[..40]);
        }
        let many = [&b"PK\x01\x02"[..], &[0; 42]].concat().repeat(10_001);
        let long = [&b"PK\x01\x02"[..], &[0; 26], &[0xff; 2], &[0; 14]].concat().repeat(17);
        for directory in [many, long] {
            assert!(require_small_directory(&directory).is_err());
        }
        assert!(require_small_directory(&[&b"PK\x01\x02"[..], &[1; 42]].concat()).is_ok());
    }

    #[test]
    fn the_sizes_that_a_part_declares_are_possible() {
        for (part, is_possible) in [
            (r#"<sst count="2" uniqueCount="1"><si/></sst>"#, true),
            (r#"<sst uniqueCount="1000000000000000"><si/></sst>"#, false),
            (r#"<sst uniqueCount="&#57;9999"/>"#, false),
            (r#"<sheetData><row r="3"><c r="A3"/></row></sheetData>"#, true),
            // Power Query keeps a part in UTF-16.
            ("\u{feff}<\0s\0 \0r\0=\0", true),
            (r#"<sst uniqueCount="1"><a b=c d='1' d='2'/></sst>"#, true),
            (r#"<fonts><font><name val="x"/></font></fonts>"#, true),
            (r#"<row r="1"><c r="A1"><f ref="B1:A1">1</f></c></row>"#, false),
            // This looks like an attribute, but it is a comment.
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
