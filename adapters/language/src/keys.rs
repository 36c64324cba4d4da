//! Mappings of a file: their keys, and their validation.
//!
//! The reader and the JSON Schema use the same tables.

use std::collections::HashMap;
use std::sync::Arc;

use domain::{Collection, Pointer, nearest};
use jiff::Timestamp;
use jiff::civil::Date;

use crate::error::{ErrorCollector, Located, Location};
use crate::expression::date;
use crate::yaml::{Content, MappingEntry, Node, Scalar, ScalarKind};

pub struct Table {
    pub name: &'static str,
    pub keys: &'static [Key],
    pub is_open: bool,
}

impl Table {
    pub const fn closed(name: &'static str) -> Self {
        Self { name, keys: &[], is_open: false }
    }

    pub const fn open(name: &'static str) -> Self {
        Self { name, keys: &[], is_open: true }
    }

    pub const fn with(self, keys: &'static [Key]) -> Self {
        Self { keys, ..self }
    }
}

pub struct Key {
    pub(crate) name: &'static str,
    pub(crate) presence: Presence,
    pub(crate) form: Form,
    pub(crate) description: &'static str,
}

pub const LONGEST_NAME: usize = 64;
const MOST_ELEMENTS: usize = 1_000;
pub(crate) const ID_PATTERN: &str = "^[a-z][a-z0-9_]{0,63}$";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Required { example: &'static str },
    Optional,
    Alternative,
}

#[derive(Clone, Copy)]
pub enum Form {
    Null,
    String(usize),
    Id,
    Expression,
    Pointer,
    Date,
    Time,
    Word(Word),
    List(&'static Self),
    Item,
    Mapping(&'static Table),
    Named(Option<Word>, &'static Self),
    OneOf(&'static [Self]),
}

#[derive(Clone, Copy)]
pub struct Word {
    pub of: &'static str,
    pub known: fn() -> Vec<&'static str>,
}

pub struct Keys<'a> {
    pub place: Location,
    entries: Vec<&'a MappingEntry>,
}

impl<'a> Keys<'a> {
    /// Validates a mapping by its table, except for values that are mappings or have alternative
    /// forms. `others` are further keys; `None` allows any.
    pub fn of(
        node: &'a Node,
        table: &Table,
        others: Option<&[&str]>,
        errors: &mut ErrorCollector<'_>,
    ) -> Option<Self> {
        let entries = errors.take(entries(node, table.name))?;
        let is_there = |key: &&Key| entries.iter().any(|entry| entry.key == key.name);
        for key in table.keys.iter().filter(|key| !is_there(key)) {
            if let Presence::Required { example } = key.presence {
                let (of, name) = (table.name, key.name);
                let reason =
                    format!("{of} needs the key `{name}`; add one, such as `{name}: {example}`");
                errors.add(node.place, reason);
            }
        }
        errors.take(refuse_alternatives(node, entries, table));
        let known = table.keys.iter().map(|key| key.name);
        let known: Vec<_> = known.chain(others.into_iter().flatten().copied()).collect();
        let is_sound = |entry: &&MappingEntry| {
            let before = errors.count();
            if let Some(key) = table.keys.iter().find(|key| key.name == entry.key) {
                let checked = key.form.check(&entry.value, key.name, errors);
                errors.take(checked);
            } else if others.is_some() && !known.contains(&entry.key.as_str()) {
                let (of, key, words) = (table.name, &entry.key, known_words(&entry.key, &known));
                errors.add(entry.place, format!("{of} has no key `{key}`; {words}"));
            }
            errors.count() == before
        };
        Some(Self { entries: entries.iter().filter(is_sound).collect(), place: node.place })
    }

    pub fn get(&self, key: &str) -> Option<&'a Node> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &*entry.value)
    }

    pub fn elements(&self, key: &str) -> &'a [Arc<Node>] {
        match self.get(key).map(|node| &node.content) {
            Some(Content::List(elements)) => elements,
            _ => &[],
        }
    }

    pub fn scalar(&self, key: &str) -> Option<&'a Scalar> {
        self.get(key)?.scalar()
    }

    pub fn string(&self, key: &str) -> Option<&'a str> {
        self.scalar(key).map(|scalar| scalar.text.as_str())
    }

    pub fn date(&self, key: &str) -> Option<Date> {
        date(self.string(key)?)
    }

    pub fn pointer(&self, key: &str) -> Option<Pointer> {
        pointer(key, self.string(key)?).ok()
    }
}

pub const fn key(name: &'static str, form: Form, description: &'static str) -> Key {
    Key { name, presence: Presence::Optional, form, description }
}

impl Key {
    pub const fn required(self, example: &'static str) -> Self {
        Self { presence: Presence::Required { example }, ..self }
    }

    pub const fn alternative(self) -> Self {
        Self { presence: Presence::Alternative, ..self }
    }
}

impl Form {
    fn check(self, node: &Node, key: &str, errors: &mut ErrorCollector<'_>) -> Result<(), Located> {
        let refuse = |reason| Err((node.place, reason));
        let sound = |is_sound: fn(&str) -> bool, wanted: &str| match string(node, key)? {
            scalar if is_sound(&scalar.text) => Ok(()),
            scalar => refuse(format!("`{key}` must be {wanted}, not `{}`", scalar.text)),
        };
        match self {
            Self::Date => sound(|text| date(text).is_some(), "a date as YYYY-MM-DD"),
            Self::Time => sound(
                |text| text.parse::<Timestamp>().is_ok(),
                "a time such as 2026-01-31T12:00:00Z",
            ),
            Self::Id => sound(
                |text| is_name(text, LONGEST_NAME, b'_'),
                "a name of lower-case letters, digits and `_` that begins with a letter and has at most 64 characters",
            ),
            Self::String(most) => match string(node, key)?.text.chars().count() {
                count if count <= most => Ok(()),
                _ => refuse(format!("the {key} has more than {most} characters; shorten it")),
            },
            Self::Word(word) => word.check(&string(node, key)?.text, node.place),
            Self::Expression => expression(node, key).map(|_| ()),
            Self::Pointer => {
                // An empty string, unlike an absent value, points to the whole item.
                let is_empty = node.scalar().is_some_and(|it| it.text.is_empty() && !it.is_null());
                let written = if is_empty { "" } else { &string(node, key)?.text };
                pointer(key, written).map(|_| ()).or_else(refuse)
            }
            Self::List(of) => {
                for element in list(node, key)? {
                    let checked = of.check(element, key, errors);
                    errors.take(checked);
                }
                Ok(())
            }
            Self::Null | Self::Item | Self::Mapping(_) | Self::Named(..) | Self::OneOf(_) => Ok(()),
        }
    }
}

impl Word {
    pub fn check(self, word: &str, place: Location) -> Result<(), Located> {
        let known = (self.known)();
        if known.contains(&word) {
            return Ok(());
        }
        Err((place, format!("there is no {} `{word}`; {}", self.of, known_words(word, &known))))
    }
}

fn refuse_alternatives(
    node: &Node,
    entries: &[MappingEntry],
    table: &Table,
) -> Result<(), Located> {
    let alternatives = table.keys.iter().filter(|key| key.presence == Presence::Alternative);
    let names: Vec<_> = alternatives.map(|key| key.name).collect();
    let mut present = entries.iter().filter(|entry| names.contains(&entry.key.as_str()));
    let name = table.name;
    match (present.next(), present.next()) {
        (None, _) if !names.is_empty() => {
            let either = names.join("` or a `");
            Err((node.place, format!("{name} needs a `{either}`; add one")))
        }
        (Some(first), Some(second)) => {
            let both = format!("`{}` and a `{}`", first.key, second.key);
            Err((second.value.place, format!("{name} has a {both}; keep one of them")))
        }
        _ => Ok(()),
    }
}

pub fn entries<'a>(node: &'a Node, name: &str) -> Result<&'a [MappingEntry], Located> {
    if let Content::Mapping(entries) = &node.content {
        return Ok(entries);
    }
    let found = node.with_article();
    Err((node.place, format!("{name} must be a mapping of keys to values, not {found}")))
}

pub fn string<'a>(node: &'a Node, key: &str) -> Result<&'a Scalar, Located> {
    let found = node.with_article();
    let reason = match node.scalar() {
        Some(scalar) if scalar.is_null() || scalar.text.trim().is_empty() => {
            format!("`{key}` is empty; write a string or remove the key")
        }
        Some(scalar) if scalar.kind() == ScalarKind::String => return Ok(scalar),
        Some(_) => format!("`{key}` must be a string, not {found}; put it in quotes"),
        None => format!("`{key}` must be a string, not {found}"),
    };
    Err((node.place, reason))
}

/// Returns the source of an expression. `true` and `5` are sources, too.
pub fn expression<'a>(node: &'a Node, key: &str) -> Result<&'a Scalar, Located> {
    let reason = match node.scalar() {
        Some(scalar) if scalar.is_null() || scalar.text.trim().is_empty() => {
            format!("`{key}` is empty; write an expression or remove the key")
        }
        Some(scalar) => return Ok(scalar),
        None => {
            let found = node.with_article();
            format!(
                "`{key}` is an expression, but YAML reads it as {found}; put it in quotes, or in the lines below `|`"
            )
        }
    };
    Err((node.place, reason))
}

pub fn list<'a>(node: &'a Node, key: &str) -> Result<&'a [Arc<Node>], Located> {
    match &node.content {
        Content::List(elements) => Ok(elements),
        _ => Err((node.place, format!("`{key}` must be a list, not {}", node.with_article()))),
    }
}

/// Elements of all files by id, with `FILE:LINE`. `None` marks an element with errors.
pub type ById<T> = HashMap<Box<str>, (Option<Arc<T>>, String)>;

/// Reads a list of elements and returns the valid ones. Ids are unique across files. `list` is the
/// key of the list, `one` the name of an element in messages. `read` returns the id, and `None` for
/// an element with errors.
pub fn read_elements<T>(
    keys: &Keys<'_>,
    (list, one): (&str, &str),
    known: &mut ById<T>,
    errors: &mut ErrorCollector<'_>,
    mut read: impl FnMut(&Node, &mut ErrorCollector<'_>) -> Option<(Box<str>, Option<T>)>,
) -> Vec<Arc<T>> {
    let mut sound = Vec::new();
    for node in keys.elements(list) {
        if known.len() == MOST_ELEMENTS {
            errors.add(node.place, format!("there are more than {MOST_ELEMENTS} {list}"));
            break;
        }
        let Some((id, element)) = read(node, errors) else { continue };
        if let Some((_, at)) = known.get(&id) {
            let reason = format!("duplicate {one} `{id}`, first at {at}; choose another id");
            errors.add(node.place, reason);
            continue;
        }
        let element = element.map(Arc::new);
        sound.extend(element.clone());
        known.insert(id, (element, format!("{}:{}", errors.file(), node.place.line)));
    }
    sound
}

pub fn known_words(word: &str, known: &[&str]) -> String {
    let guess = nearest(word, known.iter().copied())
        .map(|guess| format!("did you mean `{guess}`? "))
        .unwrap_or_default();
    format!("{guess}known: `{}`", known.join("`, `"))
}

pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map(|guess| format!("; did you mean `{guess}`?")).unwrap_or_default()
}

/// Returns the reason why no item of a group with a fixed set of members has a member.
pub fn absent_member(collection: Collection, name: &str) -> Option<String> {
    let mut known = collection.known_members().map(|(known, _)| known);
    if collection.is_open() || known.any(|known| known == name) {
        return None;
    }
    let guess = did_you_mean(name, collection.known_members().map(|(known, _)| known));
    Some(format!("`{}` have no field `{name}`: it is always absent{guess}", collection.name()))
}

/// Returns whether a text starts with a lower-case letter, contains only lower-case letters, digits
/// and `joint`, and has at most `most` bytes.
pub fn is_name(text: &str, most: usize, joint: u8) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == joint;
    text.len() <= most
        && text.starts_with(|it: char| it.is_ascii_lowercase())
        && text.bytes().all(fits)
}

/// Reads a JSON Pointer (RFC 6901).
pub fn pointer(key: &str, text: &str) -> Result<Pointer, String> {
    let mut tokens = text.split('/');
    if tokens.next().is_some_and(|before| !before.is_empty()) {
        return Err(format!(
            "`{key}` must be a JSON Pointer (RFC 6901), which begins with `/`; write `/{text}`"
        ));
    }
    tokens.try_fold(Pointer::root(), |pointer, token| {
        let is_escaped_well = token.split('~').skip(1).all(|after| after.starts_with(['0', '1']));
        let name = token.replace("~1", "/").replace("~0", "~");
        is_escaped_well.then(|| pointer.member(&name)).ok_or_else(|| {
            format!("in a JSON Pointer `~` is written `~0`, and `/` in a name `~1`: `{text}`")
        })
    })
}

#[cfg(test)]
mod tests {
    use super::pointer;

    #[test]
    fn pointers_are_those_of_rfc_6901() {
        for (text, reads) in [("", ""), ("/", "/"), ("/a", "/a"), ("/a~1b/m~0n/0", "/a~1b/m~0n/0")]
        {
            assert_eq!(
                pointer("key", text).map(|pointer| pointer.to_string()).as_deref(),
                Ok(reads)
            );
        }
        for text in ["a", "a/b", "/a~", "/a~2", "/~x/b"] {
            assert!(pointer("key", text).is_err(), "{text}");
        }
    }
}
