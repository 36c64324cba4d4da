//! The form of an export, as `docs/copies.md` describes it: a header, a line for each change, a
//! trailer. Here its lines are written and read; the order of changes is not
//! checked here.

use std::fmt::Write as _;

use application::maintenance::ChangeRecord;
use application::{ChangeKind, Sequence};
use domain::json::{self, MAX_DEPTH, Read, encode_string, push_string};
use domain::{Collection, ItemId, Members, Value, Version, nearest};
use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

/// The name of the format, in the header of every export.
const FORMAT: &str = "proposal-service-changes";

/// It counts up when a reader of this one could misunderstand what is written.
const FORMAT_VERSION: &str = "1";

/// Always with microseconds, as everywhere in the interface.
const TIME: DateTimePrinter = DateTimePrinter::new().precision(Some(6));

/// The members of a change's line, in the order in which they are written.
const FIELDS: [&str; 10] = [
    "sequence",
    "group",
    "item_id",
    "version",
    "kind",
    "time",
    "caller",
    "parent",
    "continues",
    "members",
];

/// The members of the trailer.
const TRAILER: [&str; 2] = ["changes", "sha256"];

/// Room that a line needs beside the members of its item, with a long name of a caller.
pub const ENVELOPE: usize = 64 * 1024;

/// A line after the header.
#[derive(Debug, PartialEq, Eq)]
pub enum Entry {
    /// A change.
    Change(Box<ChangeRecord>),
    /// The last line.
    Trailer {
        /// How many changes there are.
        changes: u64,
        /// The checksum of all lines before it.
        sha256: String,
    },
}

/// An error in a line, and how to fix it.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LineError {
    /// No JSON that can be kept.
    #[error("column {column}: {detail}")]
    Json {
        /// In characters, from 1.
        column: usize,
        /// The character that was found and those expected.
        detail: String,
    },
    /// A value of another kind.
    #[error("the line is no JSON object; an export has one on every line")]
    NotAnObject,
    /// A member that no line has.
    #[error("no line has a member `{name}`; {}", suggested(*.meant))]
    UnknownMember {
        /// Its name.
        name: String,
        /// The name that was probably meant.
        meant: Option<&'static str>,
    },
    /// A member is missing.
    #[error("`{0}` is missing; make it null if there is none")]
    Missing(&'static str),
    /// A member has a value that it cannot have.
    #[error("`{name}` is {found}; it must be {wanted}")]
    Wrong {
        /// Its name.
        name: &'static str,
        /// Its value, shortened.
        found: String,
        /// Its possible values.
        wanted: String,
    },
    /// The members hold what no store can keep.
    #[error("`members{pointer}`: {detail}")]
    Unstorable {
        /// Where, within the members.
        pointer: String,
        /// The reason.
        detail: String,
    },
}

/// The checksum over lines.
#[derive(Default)]
pub struct Digest(Sha256);

impl Digest {
    /// Goes on with a line, with what ends it.
    pub fn add(&mut self, line: &[u8]) {
        self.0.update(line);
    }

    /// The checksum in hexadecimal, as `sha256sum` writes it.
    pub fn finish(self) -> String {
        hex::encode(self.0.finalize())
    }
}

/// The first line.
pub fn header() -> String {
    format!("{{\"format\":\"{FORMAT}\",\"format_version\":{FORMAT_VERSION}}}\n")
}

/// The last line.
pub fn trailer(changes: u64, sha256: &str) -> String {
    format!("{{\"changes\":{changes},\"sha256\":\"{sha256}\"}}\n")
}

/// The line of a change. Its members are put in as they are stored, to the last digit.
pub fn push_change(out: &mut String, change: &ChangeRecord) {
    let id = |id: &Option<ItemId>| id.map_or_else(|| "null".to_owned(), |id| format!("\"{id}\""));
    // Writing to a String cannot fail.
    let _ = write!(
        out,
        "{{\"sequence\":{},\"group\":\"{}\",\"item_id\":\"{}\",\"version\":{},\"kind\":\"{}\",\"time\":\"{}\",\"caller\":",
        change.sequence.0,
        change.collection.name(),
        change.item,
        change.version,
        change.kind.name(),
        TIME.timestamp_to_string(&change.time),
    );
    match &change.caller {
        Some(caller) => push_string(out, caller),
        None => out.push_str("null"),
    }
    let _ = write!(
        out,
        ",\"parent\":{},\"continues\":{},\"members\":{}}}",
        id(&change.parent),
        id(&change.continues),
        change.members.as_deref().unwrap_or("null")
    );
    out.push('\n');
}

/// Reads the header of an export, or returns its other version, if it is a header at all.
pub fn read_header(line: &[u8]) -> Result<(), Option<String>> {
    let read = json::read(line).map_err(|_| None)?;
    let is_ours = read
        .value()
        .member("format")
        .and_then(Value::as_string)
        .is_some_and(|format| format == FORMAT);
    let version = read
        .value()
        .member("format_version")
        .filter(|_| is_ours)
        .map(|version| version.encoded().to_owned());
    if version.as_deref() == Some(FORMAT_VERSION) { Ok(()) } else { Err(version) }
}

/// Reads a line after the header, or returns its first error.
pub fn read_entry(line: &[u8]) -> Result<Entry, LineError> {
    // The members are nested one deeper than where they stand alone.
    let read = json::read_within(line, MAX_DEPTH + 1).map_err(|error| LineError::Json {
        column: error.column,
        // The reader knows bodies of requests.
        detail: error.detail.replace("the body", "the line"),
    })?;
    if !read.text.starts_with('{') {
        return Err(LineError::NotAnObject);
    }
    if read.value().member("group").is_none()
        && TRAILER.iter().any(|name| read.value().member(name).is_some())
    {
        return read_trailer(&read);
    }
    let fields = members(&read, FIELDS)?;
    read_change(fields, read.has_unstorable).map(|change| Entry::Change(Box::new(change)))
}

fn read_trailer(read: &Read) -> Result<Entry, LineError> {
    let [changes, sha256] = members(read, TRAILER)?;
    let changes = wanted(
        TRAILER[0],
        changes,
        number(changes).and_then(|number| u64::try_from(number).ok()),
        || "a number".to_owned(),
    )?;
    let sha256 = wanted(TRAILER[1], sha256, sha256.as_string(), || {
        "a string of 64 hexadecimal digits".to_owned()
    })?;
    Ok(Entry::Trailer { changes, sha256: sha256.into_owned() })
}

/// The values of the members, which must be there and the only ones.
fn members<'a, const COUNT: usize>(
    read: &'a Read,
    names: [&'static str; COUNT],
) -> Result<[Value<'a>; COUNT], LineError> {
    let mut found = [None; COUNT];
    for (name, value) in read.value().entries().into_iter().flatten() {
        let Some(place) = names.iter().position(|known| *known == name) else {
            return Err(LineError::UnknownMember {
                name: shortened(name),
                meant: nearest(name, FIELDS.into_iter().chain(TRAILER)),
            });
        };
        found[place] = Some(value);
    }
    for (place, name) in names.into_iter().enumerate() {
        found[place].ok_or(LineError::Missing(name))?;
    }
    Ok(found.map(|value| value.unwrap_or(Value::from_encoded("null"))))
}

fn read_change(
    fields: [Value<'_>; FIELDS.len()],
    has_unstorable: bool,
) -> Result<ChangeRecord, LineError> {
    let [sequence, group, item, version, kind, time, caller, parent, continues, members] = fields;
    let kind =
        wanted("kind", kind, kind.as_string().and_then(|name| ChangeKind::named(&name)), || {
            listed(&ChangeKind::ALL.map(ChangeKind::name))
        })?;
    Ok(ChangeRecord {
        sequence: Sequence(counted("sequence", sequence)?),
        collection: wanted(
            "group",
            group,
            group.as_string().and_then(|name| Collection::named(&name)),
            || listed(&Collection::names()),
        )?,
        item: id("item_id", item)?,
        version: Version::from_number(counted("version", version)?),
        kind,
        time: wanted("time", time, time.as_string().and_then(|time| read_time(&time)), || {
            "a time in UTC to the microsecond, such as \"2026-11-21T08:30:00.000000Z\"".to_owned()
        })?,
        caller: read_caller(caller)?,
        parent: optional_id("parent", parent)?,
        continues: optional_id("continues", continues)?,
        members: read_members(members, kind, has_unstorable)?,
    })
}

/// Returns `found`, or else an error with the values the member can have.
fn wanted<T>(
    name: &'static str,
    value: Value<'_>,
    found: Option<T>,
    wanted: impl FnOnce() -> String,
) -> Result<T, LineError> {
    found.ok_or_else(|| LineError::Wrong {
        name,
        found: shortened(value.encoded()),
        wanted: wanted(),
    })
}

fn number(value: Value<'_>) -> Option<i64> {
    value.as_number()?.parse().ok()
}

fn counted(name: &'static str, value: Value<'_>) -> Result<i64, LineError> {
    wanted(name, value, number(value).filter(|number| *number > 0), || {
        "a whole number from 1".to_owned()
    })
}

fn id(name: &'static str, value: Value<'_>) -> Result<ItemId, LineError> {
    wanted(name, value, value.as_string().and_then(|text| ItemId::parse(&text)), || {
        "a UUID of version 7 as a string of 36 characters in lower case".to_owned()
    })
}

fn optional_id(name: &'static str, value: Value<'_>) -> Result<Option<ItemId>, LineError> {
    if value.is_null() { Ok(None) } else { id(name, value).map(Some) }
}

/// One text for each time, so that what is read is written equal.
fn read_time(text: &str) -> Option<Timestamp> {
    text.parse().ok().filter(|time| TIME.timestamp_to_string(time) == text)
}

fn read_caller(value: Value<'_>) -> Result<Option<String>, LineError> {
    if value.is_null() {
        return Ok(None);
    }
    let name = value.as_string().filter(|name| !name.contains('\0'));
    wanted("caller", value, name, || "null or a string without U+0000".to_owned())
        .map(|name| Some(name.into_owned()))
}

fn read_members(
    value: Value<'_>,
    kind: ChangeKind,
    has_unstorable: bool,
) -> Result<Option<std::sync::Arc<str>>, LineError> {
    if kind == ChangeKind::Deleted {
        return wanted("members", value, value.is_null().then_some(None), || {
            "null where an item is deleted".to_owned()
        });
    }
    let text = value.encoded();
    wanted("members", value, text.starts_with('{').then_some(()), || {
        "an object, or null where an item is deleted".to_owned()
    })?;
    if has_unstorable {
        // It was read as a part of the line, so it can be read alone.
        let members = Members::from_value(value).ok().flatten();
        if let Some(violation) =
            members.and_then(|members| domain::unstorable(&members).iter().next().cloned())
        {
            return Err(LineError::Unstorable {
                pointer: violation.pointer.to_string(),
                detail: violation.detail.clone(),
            });
        }
    }
    Ok(Some(text.into()))
}

fn suggested(meant: Option<&str>) -> String {
    meant.map_or_else(|| "remove it".to_owned(), |known| format!("did you mean `{known}`?"))
}

fn listed(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| encode_string(name)).collect();
    format!("one of {}", names.join(", "))
}

/// Enough of a value to be recognised.
fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
