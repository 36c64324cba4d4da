//! Format of an export (`docs/backup.md`): a header, a line for each change, a trailer. The order
//! of changes is checked elsewhere.

use std::collections::HashMap;
use std::sync::Arc;

use application::{ChangeAuthor, Sequence};
use domain::json::{self, MAX_DEPTH, Read, encode_string};
use domain::{Collection, ItemId, Members, Value, Version, WriteOperation, nearest};
use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;
use sha2::{Digest as _, Sha256};
use storage_adapter::ChangeRecord;

const FORMAT: &str = "proposal-service-changes";

/// Increment it if older readers could misread the format.
const FORMAT_VERSION: &str = "3";

/// Readable versions. Earlier ones lack members of [`ADDED`].
const READ_VERSIONS: [&str; 3] = ["1", "2", FORMAT_VERSION];

/// Microseconds, as in the whole interface.
const TIME: DateTimePrinter = DateTimePrinter::new().precision(Some(6));

const FIELDS: [&str; 14] = [
    "sequence",
    "group",
    "item_id",
    "version",
    "kind",
    "time",
    "caller",
    "acting",
    "client",
    "request_id",
    "parent",
    "continues",
    "members",
    "removed_at",
];

/// Members that versions 2 and 3 added; null if missing.
const ADDED: [&str; 4] = ["acting", "client", "request_id", "removed_at"];

const TRAILER: [&str; 2] = ["changes", "sha256"];

/// Bytes of a line in addition to the members of its item, with a long caller name.
pub const ENVELOPE: usize = 64 * 1024;

const SHOWN: usize = 60;

/// Line after the header. The checksum of the trailer covers all lines before it.
#[derive(Debug, PartialEq, Eq)]
pub enum ExportEntry {
    Change(Box<ChangeRecord>),
    Trailer { changes: u64, sha256: String },
}

pub fn header() -> String {
    format!("{{\"format\":\"{FORMAT}\",\"format_version\":{FORMAT_VERSION}}}\n")
}

pub fn trailer(changes: u64, sha256: &str) -> String {
    format!("{{\"changes\":{changes},\"sha256\":\"{sha256}\"}}\n")
}

pub fn checksum(digest: Sha256) -> String {
    hex::encode(digest.finalize())
}

/// Returns the line of a change. Members are copied verbatim, with all digits.
pub fn change(change: &ChangeRecord) -> String {
    let string = |text: Option<String>| text.map_or("null".into(), |text| encode_string(&text));
    let id = |id: Option<ItemId>| string(id.map(|id| id.to_string()));
    let author = change.author.clone();
    format!(
        "{{\"sequence\":{},\"group\":\"{}\",\"item_id\":\"{}\",\"version\":{},\"kind\":\"{}\",\"time\":\"{}\",\
         \"caller\":{},\"acting\":{},\"client\":{},\"request_id\":{},\"parent\":{},\"continues\":{},\"members\":{},\"removed_at\":{}}}\n",
        change.sequence.0,
        change.collection.name(),
        change.item,
        change.version,
        change.kind.change_name(),
        TIME.timestamp_to_string(&change.time),
        string(author.caller),
        string(author.acting),
        string(author.client),
        string(author.request_id),
        id(change.parent),
        id(change.continues),
        change.members.as_deref().unwrap_or("null"),
        string(change.removed_at.map(|time| TIME.timestamp_to_string(&time)))
    )
}

pub fn read_header(line: &[u8]) -> Result<(), String> {
    let read = json::read(line).ok();
    let header = read.as_ref().map(Read::value);
    let member = |name: &str| header.and_then(|header| header.member(name));
    let is_ours = member("format").and_then(Value::as_string).is_some_and(|name| name == FORMAT);
    match member("format_version").filter(|_| is_ours).map(Value::encoded) {
        Some(version) if READ_VERSIONS.contains(&version) => Ok(()),
        Some(version) => Err(format!(
            "the file has format version {version}, but this program reads 1 to 3; import it with the version of the service that wrote it"
        )),
        None => Err(format!(
            "the file is not an export: it must begin with {}",
            self::header().trim_end()
        )),
    }
}

pub fn read_entry(line: &[u8]) -> Result<ExportEntry, String> {
    // The members are one level deeper than in a request.
    let read = json::read_within(line, MAX_DEPTH + 1).map_err(|error| {
        // The reader's messages are about request bodies.
        format!("column {}: {}", error.column, error.detail.replace("the body", "the line"))
    })?;
    if !read.text.starts_with('{') {
        return Err("the line is not a JSON object; every line of an export is one".to_owned());
    }
    let has = |name: &&str| read.value().member(name).is_some();
    if !has(&"group") && TRAILER.iter().any(has) {
        return read_trailer(&read);
    }
    let line = EntryFields::of(&read, &FIELDS)?;
    let kind = line.read("kind", |value| WriteOperation::of_change(&value.as_string()?))?;
    let removed_at = line.read_unless_null("removed_at", time_of)?;
    if kind == WriteOperation::Delete && removed_at.is_some() {
        return Err("a deletion has no members; set `removed_at` to null".into());
    }
    Ok(ExportEntry::Change(Box::new(ChangeRecord {
        sequence: Sequence(line.read("sequence", positive)?),
        collection: line.read("group", |value| Collection::named(&value.as_string()?))?,
        item: line.read("item_id", id)?,
        version: Version::from_number(line.read("version", positive)?),
        kind,
        time: line.read("time", time_of)?,
        author: ChangeAuthor {
            caller: line.read_unless_null("caller", name)?,
            acting: line.read_unless_null("acting", name)?,
            client: line.read_unless_null("client", name)?,
            request_id: line.read_unless_null("request_id", name)?,
        },
        parent: line.read_unless_null("parent", id)?,
        continues: line.read_unless_null("continues", id)?,
        removed_at,
        members: if kind == WriteOperation::Delete || removed_at.is_some() {
            line.read("members", |value| value.is_null().then_some(None))?
        } else {
            Some(body(&line, read.has_unstorable)?)
        },
    })))
}

fn read_trailer(read: &Read) -> Result<ExportEntry, String> {
    let line = EntryFields::of(read, &TRAILER)?;
    Ok(ExportEntry::Trailer {
        changes: line.read("changes", |value| value.as_number()?.parse().ok())?,
        sha256: line.read("sha256", |value| Some(value.as_string()?.into_owned()))?,
    })
}

fn body(line: &EntryFields<'_>, has_unstorable: bool) -> Result<Arc<str>, String> {
    let object = line.read("members", |value| value.encoded().starts_with('{').then_some(value))?;
    if has_unstorable {
        check_storable(object)?;
    }
    Ok(object.encoded().into())
}

struct EntryFields<'a>(HashMap<&'static str, Value<'a>>);

impl<'a> EntryFields<'a> {
    fn of(read: &'a Read, names: &[&'static str]) -> Result<Self, String> {
        let mut found = HashMap::with_capacity(names.len());
        for (name, value) in read.value().entries().into_iter().flatten() {
            let Some(known) = names.iter().find(|known| **known == name) else {
                let fix = match nearest(name, FIELDS.into_iter().chain(TRAILER)) {
                    Some(known) => format!("did you mean `{known}`?"),
                    None => "remove it".to_owned(),
                };
                return Err(format!("unknown member `{}`; {fix}", json::shortened(name, SHOWN)));
            };
            found.insert(*known, value);
        }
        match names.iter().find(|name| !found.contains_key(*name) && !ADDED.contains(name)) {
            Some(name) => Err(format!("`{name}` is missing; set it to null if it has no value")),
            None => Ok(Self(found)),
        }
    }

    fn read<T>(&self, name: &str, read: impl FnOnce(Value<'a>) -> Option<T>) -> Result<T, String> {
        let value = self.0.get(name).copied().unwrap_or_else(|| Value::from_encoded("null"));
        read(value).ok_or_else(|| {
            format!(
                "`{name}` is {} but must be {}",
                json::shortened(value.encoded(), SHOWN),
                expected(name)
            )
        })
    }

    fn read_unless_null<T>(
        &self,
        name: &str,
        read: impl FnOnce(Value<'a>) -> Option<T>,
    ) -> Result<Option<T>, String> {
        self.read(name, |value| if value.is_null() { Some(None) } else { read(value).map(Some) })
    }
}

fn expected(name: &str) -> String {
    let one_of = |names: &[&str]| format!("one of \"{}\"", names.join("\", \""));
    match name {
        "sequence" | "version" => "a whole number from 1",
        "item_id" | "parent" | "continues" => {
            "a UUID of version 7 as a string of 36 characters in lower case"
        }
        "group" => return one_of(&Collection::names()),
        "kind" => return one_of(&WriteOperation::LOGGED.map(WriteOperation::change_name)),
        "time" | "removed_at" => {
            "a time in UTC to the microsecond, such as \"2026-11-21T08:30:00.000000Z\""
        }
        "caller" | "acting" | "client" | "request_id" => "null or a string without U+0000",
        "changes" => "a number",
        "sha256" => "a string of 64 hexadecimal digits",
        _ => "an object, or null if the item is deleted or `removed_at` is set",
    }
    .to_owned()
}

fn positive(value: Value<'_>) -> Option<i64> {
    value.as_number()?.parse().ok().filter(|number| *number > 0)
}

fn name(value: Value<'_>) -> Option<String> {
    value.as_string().filter(|name| !name.contains('\0')).map(Into::into)
}

fn id(value: Value<'_>) -> Option<ItemId> {
    ItemId::parse(&value.as_string()?)
}

/// Accepts only the canonical form, so that a time is written as it was read.
fn time_of(value: Value<'_>) -> Option<Timestamp> {
    let text = value.as_string()?;
    text.parse().ok().filter(|time| TIME.timestamp_to_string(time) == text)
}

fn check_storable(object: Value<'_>) -> Result<(), String> {
    let members = Members::from_value(object).ok().flatten();
    let violations = members.map(|members| domain::unstorable(&members)).unwrap_or_default();
    match violations.iter().next() {
        Some(violation) => Err(format!("`members{}`: {}", violation.pointer, violation.detail)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
