//! Keys: the members by which a few items are told from many, in columns of their own with an index
//! each, so that finding by them costs no more in a large collection.
//!
//! A key is the beginning of the member's value as a text. It is taken out of the members here,
//! once per write: an index on an expression over `members` would have the engine read the JSON
//! again for every index and every write.

use domain::{Collection, Value};

/// The columns. Those of proposals have the names of their fields.
pub(crate) const COLUMNS: [&str; 5] =
    ["program_id", "research_type", "researcher_id", "start_date", SUBJECT];

/// The column for what items of the other collections are about, whatever the member is called
/// there.
const SUBJECT: &str = "subject";

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
            let column = column(collection, name);
            if let Some(place) =
                column.and_then(|column| COLUMNS.iter().position(|known| *known == column))
            {
                keys.0[place] = key(value);
            }
        }
        keys
    }

    /// What a column holds.
    pub fn in_column(&self, column: &str) -> Option<&str> {
        COLUMNS
            .iter()
            .zip(&self.0)
            .find(|(name, _)| **name == column)
            .and_then(|(_, key)| key.as_deref())
    }

    /// Whether the column has the key of what is written so.
    pub fn begin_as(&self, column: &str, text: &str) -> bool {
        self.in_column(column).is_some_and(|key| key == key_of_text(text))
    }

    /// What the columns hold.
    pub const fn columns(&self) -> &[Option<String>; COLUMNS.len()] {
        &self.0
    }
}

/// The key of a value; lists and booleans have none.
fn key(value: Value<'_>) -> Option<String> {
    value.as_written().map(key_of_text)
}

/// The key of what is written so.
pub(crate) fn key_of_text(text: impl AsRef<str>) -> String {
    text.as_ref().chars().take(LENGTH).collect()
}

/// The column of a member's key, if it is one.
pub(crate) fn column(collection: Collection, member: &str) -> Option<&'static str> {
    let indexed = collection.spec().indexed.iter().find(|indexed| **indexed == member)?;
    Some(if collection == Collection::known("proposals") { indexed } else { SUBJECT })
}

/// Whether a text compares to a key as it does to the whole value: it is shorter than what is cut
/// off a value.
pub(crate) fn compares_to_keys(text: &str) -> bool {
    text.chars().count() < LENGTH
}

/// A text for each of the columns, one after the other.
pub(crate) fn each(text: impl Fn(&str) -> String) -> String {
    COLUMNS.iter().map(|name| text(name)).collect::<Vec<_>>().concat()
}

/// The columns at the end of a list: `, program_id, …`.
pub(crate) fn columns() -> String {
    each(|name| format!(", {name}"))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use domain::Collection;
    use domain::proposal::FIELDS;

    use super::{COLUMNS, Keys, LENGTH, column};

    #[test]
    fn the_keys_of_proposals_are_fields() {
        assert!(
            Collection::known("proposals")
                .spec()
                .indexed
                .iter()
                .all(|name| FIELDS.iter().any(|field| field.name == *name))
        );
    }

    #[test]
    fn every_indexed_member_of_a_collection_has_a_column_of_its_own() {
        for collection in Collection::all() {
            let members = collection.spec().indexed;
            let columns: HashSet<_> =
                members.iter().filter_map(|name| column(collection, name)).collect();
            assert_eq!(columns.len(), members.len(), "{collection:?}");
            assert!(columns.iter().all(|column| COLUMNS.contains(column)), "{collection:?}");
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
            assert_eq!(keys.in_column("subject"), key, "{collection:?}");
            assert_eq!(
                keys.columns().iter().flatten().count(),
                usize::from(key.is_some()),
                "{collection:?}"
            );
        }
    }
}
