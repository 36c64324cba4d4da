//! `cursor`: a position in the order of a collection.
//!
//! Opaque to clients. It is base64url of a version, a direction, the query's fingerprint, the
//! item's id, the values of the sort keys and a checksum. A client can forge one, so each part is
//! validated before it reaches the store.

use std::sync::Arc;

use application::query::{PageStart, SortPosition, SortValue, Subject};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::ItemId;
use domain::json::Kind;
use sha2::{Digest, Sha256};

use super::error::invalid;
use super::fingerprint::Fingerprint;
use crate::hash::first_64_bits;
use crate::problem::{Problem, Result};

/// In characters. A longer position has no cursor, and its page has only a number.
const LONGEST: usize = 1_500;

/// The layout that [`write()`] makes.
const VERSION: u8 = 2;
const AFTER: u8 = 0;
const BEFORE: u8 = 1;
const NUMBER: u8 = 0;
const STRING: u8 = 1;
const OTHER: u8 = 2;
const ABSENT: u8 = 3;
const CHECKSUM: usize = 4;

pub fn write(position: &PageStart, fingerprint: Fingerprint) -> Option<String> {
    let (direction, at) = match position {
        PageStart::Offset(_) => return None,
        PageStart::After(at) => (AFTER, at),
        PageStart::Before(at) => (BEFORE, at),
    };
    let mut bytes = vec![VERSION, direction];
    bytes.extend(fingerprint.0.to_be_bytes());
    bytes.extend(at.id.uuid().as_bytes());
    for key in &at.keys {
        let (kind, text) = match key {
            SortValue::Number(text) => (NUMBER, text.as_ref()),
            SortValue::String(text) => (STRING, text.as_ref()),
            SortValue::Other(text) => (OTHER, text.as_ref()),
            SortValue::Absent => (ABSENT, ""),
        };
        bytes.push(kind);
        bytes.extend(u16::try_from(text.len()).ok()?.to_be_bytes());
        bytes.extend(text.as_bytes());
    }
    let cursor = encode(bytes);
    (cursor.len() <= LONGEST).then_some(cursor)
}

pub fn read(cursor: &str, fingerprint: Fingerprint, subjects: &[&Subject]) -> Result<PageStart> {
    let (own, is_backward, at) = parse(cursor).ok_or_else(damaged)?;
    if own != fingerprint {
        let detail = "`cursor` belongs to another collection, filter, search or order. Follow the links of this collection, or use `page`.";
        return Err(invalid(detail));
    }
    let are_sound = at.keys.len() == subjects.len()
        && at.keys.iter().zip(subjects).all(|(value, subject)| is_sound(value, subject));
    match (are_sound, is_backward) {
        (false, _) => Err(damaged()),
        (true, false) => Ok(PageStart::After(at)),
        (true, true) => Ok(PageStart::Before(at)),
    }
}

fn damaged() -> Problem {
    invalid("Invalid cursor. Start again from the collection itself, or use `page`.")
}

fn parse(cursor: &str) -> Option<(Fingerprint, bool, SortPosition)> {
    if cursor.len() > LONGEST {
        return None;
    }
    let bytes = decode(cursor)?;
    let mut rest = &bytes[..];
    let &[VERSION, direction @ (AFTER | BEFORE)] = take(&mut rest)? else { return None };
    let fingerprint = Fingerprint(u64::from_be_bytes(*take(&mut rest)?));
    let id = ItemId::from_uuid(uuid::Uuid::from_bytes(*take(&mut rest)?));
    let mut keys = Vec::new();
    while !rest.is_empty() {
        keys.push(take_value(&mut rest)?);
    }
    Some((fingerprint, direction == BEFORE, SortPosition { keys, id }))
}

fn take<'a, const LENGTH: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; LENGTH]> {
    let (taken, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(taken)
}

fn take_value(rest: &mut &[u8]) -> Option<SortValue> {
    let &[kind] = take(rest)?;
    let length = u16::from_be_bytes(*take(rest)?);
    let (text, after) = rest.split_at_checked(length.into())?;
    *rest = after;
    let text: Arc<str> = std::str::from_utf8(text).ok()?.into();
    match kind {
        NUMBER => Some(SortValue::Number(text)),
        STRING => Some(SortValue::String(text)),
        OTHER => Some(SortValue::Other(text)),
        ABSENT if text.is_empty() => Some(SortValue::Absent),
        _ => None,
    }
}

/// Checks that the store can compare the subject with the value.
fn is_sound(value: &SortValue, subject: &Subject) -> bool {
    match (subject, value) {
        (Subject::CreatedAt | Subject::UpdatedAt, SortValue::Number(micros)) => {
            micros.parse::<i64>().is_ok()
        }
        (Subject::Score, SortValue::Number(score)) => is_json(score, &[Kind::Number]),
        (Subject::Member { .. }, SortValue::Number(number)) => is_json(number, &[Kind::Number]),
        (Subject::Member { .. }, SortValue::String(text)) => !text.contains('\0'),
        (Subject::Member { .. }, SortValue::Other(json)) => {
            is_json(json, &[Kind::Boolean, Kind::Array, Kind::Object])
        }
        (Subject::Member { .. }, SortValue::Absent) => true,
        _ => false,
    }
}

fn is_json(text: &str, kinds: &[Kind]) -> bool {
    let is_bare = !text.starts_with(char::is_whitespace) && !text.ends_with(char::is_whitespace);
    is_bare
        && domain::json::read(text.as_bytes())
            .is_ok_and(|read| !read.has_unstorable && kinds.contains(&read.value().kind()))
}

/// The checksum detects truncation and typing errors.
pub fn encode(mut content: Vec<u8>) -> String {
    content.extend(checksum(&content));
    URL_SAFE_NO_PAD.encode(content)
}

pub fn decode(cursor: &str) -> Option<Vec<u8>> {
    let mut bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let sum = bytes.split_off(bytes.len().checked_sub(CHECKSUM)?);
    (sum == checksum(&bytes)).then_some(bytes)
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM] {
    let [a, b, c, d, ..] = first_64_bits(Sha256::new_with_prefix(bytes)).to_be_bytes();
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    use application::query::{PageStart, SortPosition, SortValue, Subject};
    use domain::ItemId;
    use proptest::prelude::*;

    use super::{Fingerprint, encode, read, write};

    const QUERY: Fingerprint = Fingerprint(7);

    fn member() -> Subject {
        Subject::Member { name: "x".into(), kind: None }
    }

    fn place(keys: Vec<SortValue>) -> SortPosition {
        SortPosition { keys, id: ItemId::parse("01890a5d-ac96-774b-bcce-b302099a8050").unwrap() }
    }

    #[test]
    fn a_cursor_is_the_same_in_every_build() {
        let cursor =
            write(&PageStart::After(place(vec![SortValue::String("rice".into())])), QUERY).unwrap();
        assert_eq!(cursor, "AgAAAAAAAAAABwGJCl2slndLvM6zAgmagFABAARyaWNlckvHUg");
    }

    #[test]
    fn values_are_checked_against_their_subjects() {
        let (number, text, other) = (
            |text: &str| SortValue::Number(text.into()),
            |text: &str| SortValue::String(text.into()),
            |text: &str| SortValue::Other(text.into()),
        );
        for (subject, value, expected) in [
            (member(), number("14.50"), true),
            (member(), number("-0"), true),
            (member(), number("1e999999"), false),
            (member(), number(" 1"), false),
            (member(), number("NaN"), false),
            (member(), number("1); DROP TABLE items"), false),
            (member(), number("true"), false),
            (member(), text("'; --"), true),
            (member(), text("\0"), false),
            (member(), other("[1,{\"a\":true}]"), true),
            (member(), other("false"), true),
            (member(), other("[1"), false),
            (member(), other("\"\\u0000\""), false),
            (member(), other("[\"\\u0000\"]"), false),
            (member(), SortValue::Absent, true),
            (Subject::CreatedAt, number("1771200000000000"), true),
            (Subject::CreatedAt, number("9223372036854775808"), false),
            (Subject::CreatedAt, text("1"), false),
            (Subject::UpdatedAt, SortValue::Absent, false),
            (Subject::Score, number("0.607927"), true),
            (Subject::Score, number("1e-06"), true),
            (Subject::Score, other("[]"), false),
        ] {
            let cursor = write(&PageStart::Before(place(vec![value.clone()])), QUERY).unwrap();
            assert_eq!(
                read(&cursor, QUERY, &[&subject]).is_ok(),
                expected,
                "{value:?} of {subject:?}"
            );
        }
    }

    #[test]
    fn a_cursor_belongs_to_one_query() {
        let cursor = write(&PageStart::After(place(Vec::new())), QUERY).unwrap();
        assert!(read(&cursor, QUERY, &[]).is_ok());
        assert!(read(&cursor, QUERY, &[&member()]).is_err());
        let error = read(&cursor, Fingerprint(8), &[]).unwrap_err().to_string();
        assert!(error.contains("another collection"), "{error}");
        for end in 0..cursor.len() {
            assert!(read(&cursor[..end], QUERY, &[]).is_err(), "cut off at {end}");
        }
        assert!(read(&format!("{cursor}="), QUERY, &[]).is_err());
    }

    #[test]
    fn long_keys_have_no_cursor() {
        let of_length = |length: usize| {
            write(
                &PageStart::After(place(vec![SortValue::String("x".repeat(length).into())])),
                QUERY,
            )
        };
        assert!(of_length(1_000).is_some_and(|cursor| cursor.len() <= 1_500));
        assert_eq!((of_length(1_200), of_length(100_000)), (None, None));
        assert_eq!(write(&PageStart::Offset(3), QUERY), None);
    }

    fn key() -> impl Strategy<Value = SortValue> {
        prop_oneof![
            any::<i64>().prop_map(|number| SortValue::Number(number.to_string().into())),
            "[^\0]{0,30}".prop_map(|text| SortValue::String(text.into())),
            any::<bool>().prop_map(|boolean| SortValue::Other(boolean.to_string().into())),
            Just(SortValue::Absent),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(keys in prop::collection::vec(key(), 0..8), is_backward: bool, hash: u64) {
            let (place, count) = (place(keys.clone()), keys.len());
            let position = if is_backward { PageStart::Before(place) } else { PageStart::After(place) };
            let cursor = write(&position, Fingerprint(hash)).unwrap();
            let subject = member();
            prop_assert_eq!(read(&cursor, Fingerprint(hash), &vec![&subject; count]).ok(), Some(position));
        }

        #[test]
        fn a_damaged_cursor_is_refused(keys in prop::collection::vec(key(), 0..4), at in any::<prop::sample::Index>(), by in "[A-Za-z0-9_=-]?") {
            let count = keys.len();
            let cursor = write(&PageStart::After(place(keys)), QUERY).unwrap();
            let at = at.index(cursor.len());
            let mut damaged = cursor.clone();
            damaged.replace_range(at..=at, &by);
            let subject = member();
            prop_assert!(damaged == cursor || read(&damaged, QUERY, &vec![&subject; count]).is_err(), "{damaged}");
        }

        #[test]
        fn no_bytes_make_it_panic(content in prop::collection::vec(any::<u8>(), 0..80), is_ours: bool) {
            let start: &[u8] = if is_ours { &[2, 0, 0, 0, 0, 0, 0, 0, 0, 7] } else { &[] };
            let cursor = encode([start, &content].concat());
            let subject = member();
            drop(read(&cursor, QUERY, &[&subject]));
        }
    }
}
