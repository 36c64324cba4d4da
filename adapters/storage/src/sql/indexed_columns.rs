//! Keys: selective members in separate columns, each with an index, so that the cost of a lookup does
//! not grow with the collection.
//!
//! A key is the beginning of the member's value as a string. This module extracts it from the
//! members once per write; with an index on an expression over `members`, the engine would parse the
//! JSON for every index and every write.

use domain::{Collection, Value};

/// The columns. The table of collections says which member uses which of them.
pub(crate) const COLUMNS: [&str; 5] = ["key_1", "key_2", "key_3", "key_4", "key_5"];

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
            if let Some(index) = index(collection, name) {
                // Lists and booleans have no key.
                keys.0[index] = value.as_written().map(key_of_text);
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
    index(collection, member).map(|index| COLUMNS[index])
}

fn index(collection: Collection, member: &str) -> Option<usize> {
    let indexed = collection.spec().indexed.iter().find(|indexed| indexed.name == member);
    indexed.map(|indexed| indexed.key - 1)
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

    use super::{COLUMNS, Keys, LENGTH};

    #[test]
    fn every_indexed_member_has_its_own_column() {
        for collection in Collection::all() {
            let members = collection.spec().indexed;
            let columns: HashSet<_> =
                members.iter().filter_map(|member| COLUMNS.get(member.key - 1)).collect();
            assert_eq!(
                columns.len(),
                members.len(),
                "{collection:?} has {} indexed members, and each needs one of the {} columns of `items` \
                 for itself: index fewer, or add a column and its index to `items`, its name to \
                 `COLUMNS`, and to `check_tables.sql`",
                members.len(),
                COLUMNS.len(),
            );
        }
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
            assert_eq!(keys.in_column("key_5"), key, "{collection:?}");
            assert_eq!(
                keys.columns().iter().flatten().count(),
                usize::from(key.is_some()),
                "{collection:?}"
            );
        }
    }
}
