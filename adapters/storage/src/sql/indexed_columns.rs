//! Keys: the beginnings of selective members, in columns with an index each. They are extracted
//! once per write; an index on an expression would parse the JSON for every index and write.

use domain::{Collection, Value};

/// The columns. The table of collections says which member uses which of them.
pub(crate) const COLUMNS: [&str; 5] = ["key_1", "key_2", "key_3", "key_4", "key_5"];

/// Most characters of a value that are kept: an index entry of `PostgreSQL` is below 2,700 bytes.
pub(crate) const LENGTH: usize = 200;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keys([Option<String>; COLUMNS.len()]);

impl Keys {
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

    pub fn in_column(&self, column: &str) -> Option<&str> {
        let mut keys = COLUMNS.iter().zip(&self.0);
        keys.find(|(name, _)| **name == column).and_then(|(_, key)| key.as_deref())
    }

    pub fn begin_as(&self, column: &str, text: &str) -> bool {
        self.in_column(column).is_some_and(|key| key == key_of_text(text))
    }

    pub const fn columns(&self) -> &[Option<String>; COLUMNS.len()] {
        &self.0
    }
}

pub(crate) fn key_of_text(text: impl AsRef<str>) -> String {
    text.as_ref().chars().take(LENGTH).collect()
}

pub(crate) fn column(collection: Collection, member: &str) -> Option<&'static str> {
    index(collection, member).map(|index| COLUMNS[index])
}

fn index(collection: Collection, member: &str) -> Option<usize> {
    let indexed = collection.spec().indexed.iter().find(|indexed| indexed.name == member);
    indexed.map(|indexed| indexed.key - 1)
}

/// A shorter string compares to a key as to the whole value.
pub(crate) fn compares_to_keys(text: &str) -> bool {
    text.chars().count() < LENGTH
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
