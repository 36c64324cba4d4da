//! The keys of a mapping, each with what is wrong with it.

use std::sync::Arc;

use domain::nearest;
use jiff::civil::Date;

use crate::fault::{FileFaults, Place};
use crate::yaml::{Content, Entry, Node, Scalar, ScalarKind};

/// A mapping of which only some keys are known.
pub(crate) struct Keys<'a> {
    /// Where it begins.
    pub place: Place,
    entries: &'a [Entry],
    /// What it is in messages: "a rule".
    what: &'static str,
}

impl<'a> Keys<'a> {
    /// The keys of a value, which is to be a mapping.
    pub fn of(node: &'a Node, what: &'static str, faults: &mut FileFaults<'_>) -> Option<Self> {
        let Content::Mapping(entries) = &node.content else {
            faults.add(
                node.place,
                format!("{what} is a mapping of keys to values, not {}", node.with_article()),
            );
            return None;
        };
        Some(Self { place: node.place, entries, what })
    }

    /// Names the keys that are not known.
    pub fn refuse_unknown(&self, known: &[&str], faults: &mut FileFaults<'_>) {
        for entry in self.entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
            faults.add(
                entry.place,
                format!(
                    "{} has no key `{}`; {}",
                    self.what,
                    entry.key,
                    known_words(&entry.key, known)
                ),
            );
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &'a Entry> {
        self.entries.iter()
    }

    pub fn get(&self, key: &str) -> Option<&'a Arc<Node>> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// A value that must be there.
    pub fn required(
        &self,
        key: &str,
        example: &str,
        faults: &mut FileFaults<'_>,
    ) -> Option<&'a Arc<Node>> {
        let value = self.get(key);
        if value.is_none() {
            faults.add(
                self.place,
                format!("{} needs the key `{key}`; add one, such as `{key}: {example}`", self.what),
            );
        }
        value
    }

    /// A text, if the key is there.
    pub fn text(&self, key: &str, faults: &mut FileFaults<'_>) -> Option<&'a Scalar> {
        text(self.get(key)?, key, faults)
    }

    /// The source of an expression, if the key is there. `true` and `5` are texts there.
    pub fn expression(&self, key: &str, faults: &mut FileFaults<'_>) -> Option<&'a Scalar> {
        expression(self.get(key)?, key, faults)
    }

    /// A day, if the key is there.
    pub fn day(&self, key: &str, faults: &mut FileFaults<'_>) -> Option<Date> {
        let scalar = self.text(key, faults)?;
        let day =
            (scalar.text.len() == "YYYY-MM-DD".len()).then(|| scalar.text.parse().ok()).flatten();
        if day.is_none() {
            faults.add(
                scalar.source.place,
                format!("`{key}` is a day as YYYY-MM-DD, which `{}` is not", scalar.text),
            );
        }
        day
    }
}

/// A value that is to be a text.
pub(crate) fn text<'a>(
    node: &'a Node,
    key: &str,
    faults: &mut FileFaults<'_>,
) -> Option<&'a Scalar> {
    match node.scalar() {
        Some(scalar) if scalar.kind() == ScalarKind::Text && !scalar.text.trim().is_empty() => {
            return Some(scalar);
        }
        Some(scalar) if scalar.is_null() || scalar.text.trim().is_empty() => {
            faults.add(node.place, format!("`{key}` is empty; write a text or remove the key"));
        }
        Some(_) => faults.add(
            node.place,
            format!("`{key}` is a text, not {}; put it in quotes", node.with_article()),
        ),
        None => faults.add(node.place, format!("`{key}` is a text, not {}", node.with_article())),
    }
    None
}

/// A value that is to be the source of an expression.
pub(crate) fn expression<'a>(
    node: &'a Node,
    key: &str,
    faults: &mut FileFaults<'_>,
) -> Option<&'a Scalar> {
    match node.scalar() {
        Some(scalar) if !scalar.text.trim().is_empty() && !scalar.is_null() => return Some(scalar),
        Some(_) => faults
            .add(node.place, format!("`{key}` is empty; write an expression or remove the key")),
        None => {
            let found = node.with_article();
            faults.add(node.place, format!("`{key}` is an expression, which YAML reads as {found} here; write it in the lines below `|`"));
        }
    }
    None
}

/// The elements of a value that is to be a list.
pub(crate) fn list<'a>(
    node: &'a Node,
    key: &str,
    faults: &mut FileFaults<'_>,
) -> Option<&'a [Arc<Node>]> {
    if let Content::List(elements) = &node.content {
        return Some(elements);
    }
    faults.add(node.place, format!("`{key}` is a list, not {}", node.with_article()));
    None
}

/// One of several words.
pub(crate) fn word<T>(
    scalar: &Scalar,
    key: &str,
    named: impl Fn(&str) -> Option<T>,
    known: &[&str],
    faults: &mut FileFaults<'_>,
) -> Option<T> {
    let word = named(&scalar.text);
    if word.is_none() {
        faults.add(
            scalar.source.place,
            format!("there is no {key} `{}`; {}", scalar.text, known_words(&scalar.text, known)),
        );
    }
    word
}

fn known_words(word: &str, known: &[&str]) -> String {
    let guess = nearest(word, known.iter().copied())
        .map(|guess| format!("did you mean `{guess}`? "))
        .unwrap_or_default();
    format!("{guess}there are `{}`", known.join("`, `"))
}
