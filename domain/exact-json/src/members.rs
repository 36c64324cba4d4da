use std::fmt;
use std::sync::Arc;

use crate::number::is_storable_number;
use crate::read::{Entry, Read, narrow, read};
use crate::value::{Kind, Value, decode};
use crate::write::{escape_name, push_string};
use crate::{JsonError, Pointer};

/// The members of an item: an ordered JSON object with unique names. It keeps every digit and code
/// point.
///
/// Clones share one compact text and its index: at most three times the size of the text.
#[derive(Clone, PartialEq, Eq)]
pub struct Members {
    text: Arc<str>,
    entries: Arc<[Entry]>,
    has_unstorable: bool,
}

impl Default for Members {
    fn default() -> Self {
        Self::from_canonical("{}", false)
    }
}

impl Members {
    /// Reads a JSON object. `Ok(None)` is JSON of another kind.
    pub fn read(body: &[u8]) -> Result<Option<Self>, JsonError> {
        Ok(Self::from_read(read(body)?))
    }

    pub fn from_read(read: Read) -> Option<Self> {
        let is_object = read.value().kind() == Kind::Object;
        is_object.then(|| Self {
            text: read.text.into(),
            entries: read.entries.into(),
            has_unstorable: read.has_unstorable,
        })
    }

    /// The members of an object that this crate wrote.
    pub(crate) fn from_canonical(text: &str, has_unstorable: bool) -> Self {
        let mut at = "{\"".len();
        let members = Value::from_encoded(text).entries().into_iter().flatten();
        let entries = members.map(|(name, value)| {
            let value_at = at + name.len() + "\":".len();
            let entry = Entry { name: narrow(at), value: narrow(value_at) };
            at = value_at + value.encoded().len() + ",\"".len();
            entry
        });
        Self { entries: entries.collect(), text: text.into(), has_unstorable }
    }

    /// Reads an object within a larger body. `Ok(None)` is a value of another kind. Fails if it is
    /// nested too deeply for a separate item.
    pub fn from_value(value: Value<'_>) -> Result<Option<Self>, JsonError> {
        if value.kind() == Kind::Object { Self::read(value.encoded().as_bytes()) } else { Ok(None) }
    }

    pub fn encoded(&self) -> &str {
        &self.text
    }

    pub fn into_encoded(self) -> Arc<str> {
        self.text
    }

    pub fn get(&self, name: &str) -> Option<Value<'_>> {
        self.get_encoded(&escape_name(name))
    }

    /// Returns the member with this name in canonical escaping, without quotes.
    pub fn get_encoded(&self, name: &str) -> Option<Value<'_>> {
        let is_named =
            |entry: &Entry| self.text.as_bytes().get(entry.name()) == Some(name.as_bytes());
        self.entries.iter().position(is_named).map(|at| self.value_at(at))
    }

    fn value_at(&self, at: usize) -> Value<'_> {
        // The separator before the next name is `,"`. The last value precedes the closing brace.
        let end = self
            .entries
            .get(at + 1)
            .map_or(self.text.len() - 1, |next| next.name as usize - ",\"".len());
        Value::from_encoded(&self.text[self.entries[at].value as usize..end])
    }

    pub fn iter(&self) -> impl Iterator<Item = (std::borrow::Cow<'_, str>, Value<'_>)> {
        self.encoded_entries().map(|(name, value)| (decode(name), value))
    }

    /// Returns names in canonical escaping.
    pub(crate) fn encoded_entries(&self) -> impl Iterator<Item = (&str, Value<'_>)> {
        self.entries
            .iter()
            .enumerate()
            .map(|(at, entry)| (&self.text[entry.name()], self.value_at(at)))
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn retain(self, keep: impl Fn(&str, Value<'_>) -> bool) -> Self {
        if self.iter().all(|(name, value)| keep(&name, value)) {
            return self;
        }
        let mut text = String::with_capacity(self.text.len());
        text.push('{');
        for (name, value) in self.encoded_entries() {
            if keep(&decode(name), value) {
                push_member(&mut text, name, |out| out.push_str(value.encoded()));
            }
        }
        text.push('}');
        Self::from_canonical(&text, self.has_unstorable)
    }

    /// Returns the members with this one first, or without it. `value` is canonical, and `name` needs
    /// no escaping.
    pub fn with_first(&self, name: &str, value: Option<&str>) -> Self {
        let mut text = String::with_capacity(self.text.len() + value.map_or(0, str::len) + 8);
        text.push('{');
        if let Some(value) = value {
            push_member(&mut text, name, |out| out.push_str(value));
        }
        for (other, kept) in self.encoded_entries().filter(|(other, _)| *other != name) {
            push_member(&mut text, other, |out| out.push_str(kept.encoded()));
        }
        text.push('}');
        Self::from_canonical(&text, self.has_unstorable)
    }

    /// Calls `found` with each part that PostgreSQL cannot store, and its place.
    pub fn each_unstorable(&self, found: &mut dyn FnMut(Unstorable, &Pointer)) {
        if self.has_unstorable {
            find_unstorable(Value::from_encoded(&self.text), &mut Pointer::root(), found);
        }
    }

    pub(crate) const fn has_unstorable(&self) -> bool {
        self.has_unstorable
    }
}

impl fmt::Debug for Members {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unstorable {
    Nul,
    OutOfRange,
}

fn find_unstorable(
    value: Value<'_>,
    at: &mut Pointer,
    found: &mut dyn FnMut(Unstorable, &Pointer),
) {
    match value.kind() {
        Kind::String
            if value.encoded().contains("\\u0000")
                && value.as_string().is_some_and(|text| text.contains('\0')) =>
        {
            found(Unstorable::Nul, at);
        }
        Kind::Number if !is_storable_number(value.encoded()) => found(Unstorable::OutOfRange, at),
        Kind::Array => {
            for (index, element) in value.elements().into_iter().flatten().enumerate() {
                at.within(&index.to_string(), |at| find_unstorable(element, at, found));
            }
        }
        Kind::Object => {
            for (name, member) in value.entries().into_iter().flatten() {
                let name = decode(name);
                at.within(&name, |at| {
                    if name.contains('\0') {
                        found(Unstorable::Nul, at);
                    }
                    find_unstorable(member, at, found);
                });
            }
        }
        _ => {}
    }
}

/// Appends a member. Its name is in canonical escaping and must be unique.
pub fn push_member(out: &mut String, name: &str, write: impl FnOnce(&mut String)) {
    if !out.ends_with('{') {
        out.push(',');
    }
    out.push('"');
    out.push_str(name);
    out.push_str("\":");
    write(out);
}

/// For examples and tests, not for input.
impl<'a> FromIterator<(&'a str, &'a str)> for Members {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(texts: I) -> Self {
        let mut object = String::from("{");
        for (name, text) in texts {
            push_member(&mut object, &escape_name(name), |out| push_string(out, text));
        }
        object.push('}');
        Self::from_canonical(&object, false)
    }
}
