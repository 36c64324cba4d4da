//! Value as JSON of a limited length.

use domain::ItemId;
use domain::json::push_string;

use super::super::conversions;
use super::super::meter::{CostLimit, Meter};
use super::super::value::{List, Map, Val};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonText {
    pub text: String,
    pub is_cut: bool,
}

impl JsonText {
    /// Returns the JSON of a value, cut after about `most` bytes. Its cost depends on `most`, not
    /// on the value.
    pub(in crate::expression) fn of(value: &Val<'_>, most: usize) -> Self {
        let mut writer = JsonWriter { out: String::new(), most };
        writer.value(value);
        let JsonWriter { out: text, .. } = writer;
        if text.len() <= most {
            return Self { text, is_cut: false };
        }
        // Escapes may have made it longer.
        let end = (most..text.len()).find(|end| text.is_char_boundary(*end));
        Self { text: closed(&text[..end.unwrap_or(text.len())]), is_cut: true }
    }
}

struct JsonWriter {
    out: String,
    most: usize,
}

impl JsonWriter {
    const fn is_full(&self) -> bool {
        self.out.len() > self.most
    }

    fn beginning<'t>(&self, text: &'t str) -> &'t str {
        let left = (self.most + 1).saturating_sub(self.out.len());
        let end = (left..text.len()).find(|end| text.is_char_boundary(*end));
        &text[..end.unwrap_or(text.len())]
    }

    fn encoded(&mut self, text: &str) {
        let beginning = self.beginning(text);
        self.out.push_str(beginning);
    }

    fn string(&mut self, text: &str) {
        let beginning = self.beginning(text);
        push_string(&mut self.out, beginning);
        if beginning.len() < text.len() {
            self.out.pop();
        }
    }

    fn value(&mut self, value: &Val<'_>) {
        match value {
            Val::Null => self.encoded("null"),
            Val::Boolean(boolean) => self.encoded(&boolean.to_string()),
            Val::Integer(integer) => self.encoded(&integer.to_string()),
            Val::Decimal(decimal) => self.encoded(&decimal.to_string()),
            // JSON has no infinity.
            Val::Double(double) if !double.is_finite() => self.string(&double.to_string()),
            Val::Double(double) => self.encoded(&format!("{double:?}")),
            Val::String(text) => self.string(text.as_str()),
            Val::Type(kind) => self.string(kind.type_name()),
            Val::Timestamp(_) | Val::Duration(_) => {
                // A time is short, so it stays below the limit.
                let text = conversions::string(value, &Meter::of(CostLimit::AtOnce));
                if let Ok(Val::String(text)) = text {
                    self.string(text.as_str());
                }
            }
            Val::List(List::Json(list)) => self.encoded(list.encoded()),
            Val::List(List::Made(elements)) => self.list('[', elements, Self::value, ']'),
            Val::List(List::Items(items, _)) => {
                self.list('[', items, |writer, item| writer.map(&Map::Found(item, false)), ']');
            }
            Val::Map(map) => self.map(map),
        }
    }

    fn list<T>(
        &mut self,
        open: char,
        elements: &[T],
        mut each: impl FnMut(&mut Self, &T),
        close: char,
    ) {
        self.out.push(open);
        for (index, element) in elements.iter().enumerate() {
            if self.is_full() {
                return;
            }
            self.out.push_str(if index == 0 { "" } else { "," });
            each(self, element);
        }
        self.out.push(close);
    }

    fn map(&mut self, map: &Map<'_>) {
        match map {
            Map::Json(object) => self.encoded(object.encoded()),
            Map::Written(own, members) => self.item(&id("id", *own), members.encoded()),
            Map::Found(item, _) => {
                let no_parent = || "\"parent\":null".to_owned();
                let parent = item.parent.map_or_else(no_parent, |parent| id("parent", parent));
                self.item(&format!("{},{parent}", id("id", item.id)), &item.members);
            }
            Map::Made(entries) => {
                let entry = |writer: &mut Self, (key, value): &(Val<'_>, Val<'_>)| {
                    writer.key(key);
                    writer.out.push(':');
                    writer.value(value);
                };
                self.list('{', entries, entry, '}');
            }
        }
    }

    fn key(&mut self, key: &Val<'_>) {
        match key {
            Val::String(text) => self.string(text.as_str()),
            Val::Integer(integer) => self.string(&integer.to_string()),
            Val::Boolean(boolean) => self.string(&boolean.to_string()),
            other => self.string(other.kind().type_name()),
        }
    }

    fn item(&mut self, ids: &str, members: &str) {
        self.encoded("{");
        self.encoded(ids);
        self.encoded(if members.len() > "{}".len() { "," } else { "" });
        self.encoded(members.strip_prefix('{').unwrap_or("}"));
    }
}

fn id(name: &str, id: ItemId) -> String {
    format!("\"{name}\":\"{id}\"")
}

/// Completes a truncated JSON text: drops incomplete values, ends a cut string with `…`, and closes
/// open brackets.
fn closed(beginning: &str) -> String {
    let bytes = beginning.as_bytes();
    // Up to `complete` the text only needs the brackets in `open`.
    let (mut open, mut complete, mut at) = (Vec::new(), 0, 0);
    let mut is_key = false;
    let mut ending = "";
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => {
                is_key = *byte == b'{';
                open.push(if is_key { '}' } else { ']' });
                complete = at;
            }
            b'}' | b']' => {
                open.pop();
                complete = at;
            }
            b',' => is_key = open.last() == Some(&'}'),
            b':' => is_key = false,
            b'"' => match end_of_string(beginning, at) {
                Ok(end) => {
                    at = end;
                    complete = if is_key { complete } else { end };
                }
                Err(end) if !is_key => {
                    (complete, ending) = (end, "…\"");
                    break;
                }
                Err(_) => break,
            },
            _ => {
                let rest = &bytes[at..];
                let length = rest.iter().position(|byte| matches!(byte, b',' | b']' | b'}'));
                let Some(length) = length else { break };
                at += length;
                complete = at;
            }
        }
    }
    if complete == 0 {
        return "null".to_owned();
    }
    let closing: String = open.iter().rev().collect();
    [&beginning[..complete], ending, &closing].concat()
}

/// Returns the end of a string. `Err` is the end of the last complete character of a truncated
/// string.
fn end_of_string(text: &str, start: usize) -> Result<usize, usize> {
    let mut rest = text[start..].char_indices();
    while let Some((at, character)) = rest.next() {
        if character == '"' {
            return Ok(start + at + 1);
        }
        if character == '\\' {
            let is_whole = match rest.next() {
                Some((_, 'u')) => (0..4).all(|_| rest.next().is_some()),
                escape => escape.is_some(),
            };
            if !is_whole {
                return Err(start + at);
            }
        }
    }
    Err(text.len())
}
