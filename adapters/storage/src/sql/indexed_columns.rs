//! Keys: selective members in separate columns, each with an index, so that the cost of a lookup does
//! not grow with the collection.
//!
//! A key is the beginning of the member's value as a string. This module extracts it from the
//! members once per write; with an index on an expression over `members`, the engine would parse the
//! JSON for every index and every write.

use domain::{Collection, Value};

/// The columns. Any collection may use them; they have the names of members of the first ones.
pub(crate) const COLUMNS: [&str; 5] =
    ["program_id", "research_type", "researcher_id", "start_date", "subject"];

/// Most characters of a value that are kept: an index entry of `PostgreSQL` is below 2,700 bytes.
pub(crate) const LENGTH: usize = 200;

/// An item's keys, in the order of [`COLUMNS`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keys([Option<String>; COLUMNS.len()]);

impl Keys {
    /// The keys among an item's members.
    pub fn of(collection: Collection, members: &str) -> Self {
        let mut keys = Self::default();
        if collection.spec().indexed.is_empty() {
            return keys;
        }
        for (name, value) in Value::from_encoded(members).entries().into_iter().flatten() {
            if let Some(column) = column(collection, name) {
                for (_, key) in COLUMNS.iter().zip(&mut keys.0).filter(|(name, _)| **name == column)
                {
                    // Lists and booleans have no key.
                    *key = value.as_written().map(key_of_text);
                }
            }
        }
        keys
    }

    /// The key in a column.
    pub fn in_column(&self, column: &str) -> Option<&str> {
        let mut keys = COLUMNS.iter().zip(&self.0);
        keys.find(|(name, _)| **name == column).and_then(|(_, key)| key.as_deref())
    }

    /// Returns whether the column has the key of what is written so.
    pub fn begin_as(&self, column: &str, text: &str) -> bool {
        self.in_column(column).is_some_and(|key| key == key_of_text(text))
    }

    /// The keys, in the order of [`COLUMNS`].
    pub const fn columns(&self) -> &[Option<String>; COLUMNS.len()] {
        &self.0
    }
}

/// The key of what is written so.
pub(crate) fn key_of_text(text: impl AsRef<str>) -> String {
    text.as_ref().chars().take(LENGTH).collect()
}

/// The column of a member's key, if it is indexed.
pub(crate) fn column(collection: Collection, member: &str) -> Option<&'static str> {
    column_among(collection.spec().indexed, member)
}

/// The column with the name of the member. The other members of `indexed` get the columns that bear
/// no member's name, in order, from the last column.
fn column_among(indexed: &[&str], member: &str) -> Option<&'static str> {
    let named = COLUMNS.into_iter().find(|column| *column == member);
    let mut free = COLUMNS.into_iter().rev().filter(|column| !indexed.contains(column));
    let mut others = indexed.iter().filter(|member| !COLUMNS.contains(member));
    let position = others.position(|other| *other == member);
    named.filter(|_| indexed.contains(&member)).or_else(|| free.nth(position?))
}

/// Returns whether a string compares to a key as it does to the whole value: it is shorter than
/// what is cut off a value.
pub(crate) fn compares_to_keys(text: &str) -> bool {
    text.chars().count() < LENGTH
}

/// A string for each of the columns, one after the other.
pub(crate) fn each(text: impl Fn(&str) -> String) -> String {
    COLUMNS.iter().map(|name| text(name)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use domain::Collection;

    use super::{COLUMNS, Keys, LENGTH, column, column_among};

    #[test]
    fn every_indexed_member_has_its_own_column() {
        for collection in Collection::all() {
            let members = collection.spec().indexed;
            let columns: HashSet<_> =
                members.iter().filter_map(|name| column(collection, name)).collect();
            assert_eq!(
                columns.len(),
                members.len(),
                "{collection:?} has {} indexed members, and `items` has {} columns for them: index \
                 fewer, or add a migration that adds a column and its index to `items`, its name to \
                 `COLUMNS`, and a field to `entities/item.rs`",
                members.len(),
                COLUMNS.len(),
            );
        }
    }

    #[test]
    fn members_without_a_column_of_their_name_take_the_others_from_the_last() {
        let indexed = ["amount", "start_date", "office"];
        let columns = indexed.map(|member| column_among(&indexed, member));
        assert_eq!(columns, [Some("subject"), Some("start_date"), Some("researcher_id")]);
        assert_eq!(column_among(&indexed, "subject"), None, "it is not indexed here");
        let many = ["a", "b", "c", "d", "e", "f"];
        assert_eq!(many.map(|member| column_among(&many, member))[4..], [Some("program_id"), None]);
    }

    #[test]
    fn texts_and_numbers_of_proposals_are_keys() {
        let members = format!(
            r#"{{"program_id":7,"title":"x","research_type":"Añ\"b","researcher_id":"{}"}}"#,
            "é".repeat(300)
        );
        let keys = Keys::of(Collection::known("proposals"), &members);
        let keys: Vec<_> = keys.columns().iter().map(Option::as_deref).collect();
        assert_eq!(keys, [Some("7"), Some("Añ\"b"), Some("é".repeat(LENGTH).as_str()), None, None]);
        assert_eq!(Keys::of(Collection::known("files"), &members), Keys::default());
    }

    #[test]
    fn what_an_item_is_about_is_its_key() {
        for (collection, members, key) in [
            (Collection::known("status"), r#"{"proposal_id":"a","subject":"b"}"#, Some("b")),
            (Collection::known("files"), r#"{"proposal_id":"a","subject":"b"}"#, Some("a")),
            (Collection::known("cashprogram"), r#"{"proposal_id":1.50}"#, Some("1.50")),
            (Collection::known("gadscores"), r#"{"proposal_id":["a"]}"#, None),
            (Collection::known("lib"), r#"{"proposal_id":"a","subject":"b"}"#, None),
            (Collection::known("proposals"), r#"{"subject":"b"}"#, None),
        ] {
            let keys = Keys::of(collection, members);
            assert_eq!(keys.in_column("subject"), key, "{collection:?}");
            assert_eq!(
                keys.columns().iter().flatten().count(),
                usize::from(key.is_some()),
                "{collection:?}"
            );
        }
    }
}
