//! Keys: the fields of a proposal by which many proposals are told from few, in columns of their own with an index each,
//! so that finding by them costs no more in a large collection.
//!
//! A key is the beginning of the field's value as a text. It is taken out of the members here, once per write: an index on
//! an expression over `members` would have the engine read the JSON again for every index and every write.

use domain::{Collection, Value};

/// The fields that are keys; the columns have the names of the fields.
pub(crate) const KEYED_FIELDS: [&str; 4] = ["program_id", "research_type", "researcher_id", "start_date"];

/// Most characters of a value that are kept: an index entry of `PostgreSQL` is below 2,700 bytes.
const LENGTH: usize = 200;

/// An item's keys, in the order of [`KEYED_FIELDS`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keys([Option<String>; KEYED_FIELDS.len()]);

impl Keys {
    /// The keys among an item's members. Only proposals have any.
    pub fn of(collection: Collection, members: &str) -> Self {
        let mut keys = Self::default();
        if collection == Collection::PROPOSALS {
            for (name, value) in Value::from_encoded(members).entries().into_iter().flatten() {
                if let Some(place) = KEYED_FIELDS.iter().position(|field| *field == name) {
                    keys.0[place] = key(value);
                }
            }
        }
        keys
    }

    /// Whether the column has the key of what is written so.
    pub fn begin_as(&self, column: &str, text: &str) -> bool {
        let key = KEYED_FIELDS.iter().zip(&self.0).find(|(name, _)| **name == column).and_then(|(_, key)| key.as_deref());
        key.is_some_and(|key| key == key_of_text(text))
    }

    /// What the columns hold.
    pub const fn columns(&self) -> &[Option<String>; KEYED_FIELDS.len()] {
        &self.0
    }
}

/// The key of a value; lists and booleans have none.
fn key(value: Value<'_>) -> Option<String> {
    let text = value.as_text().or_else(|| value.as_number().map(Into::into))?;
    Some(key_of_text(text))
}

/// The key of what is written so.
pub(crate) fn key_of_text(text: impl AsRef<str>) -> String {
    text.as_ref().chars().take(LENGTH).collect()
}

/// The column of a field's key, if it is one.
pub(crate) fn column(field: &str) -> Option<&'static str> {
    KEYED_FIELDS.into_iter().find(|keyed| *keyed == field)
}

/// Whether a text compares to a key as it does to the whole value: it is shorter than what is cut off a value.
pub(crate) fn compares_to_keys(text: &str) -> bool {
    text.chars().count() < LENGTH
}

/// A text for each of the columns, one after the other.
pub(crate) fn each(text: impl Fn(&str) -> String) -> String {
    KEYED_FIELDS.iter().map(|name| text(name)).collect::<Vec<_>>().concat()
}

/// The columns at the end of a list: `, program_id, …`.
pub(crate) fn columns() -> String {
    each(|name| format!(", {name}"))
}

#[cfg(test)]
mod tests {
    use domain::Collection;
    use domain::proposal::FIELDS;

    use super::{KEYED_FIELDS, Keys, LENGTH};

    #[test]
    fn keys_are_fields() {
        assert!(KEYED_FIELDS.iter().all(|name| FIELDS.iter().any(|field| field.name == *name)));
    }

    #[test]
    fn texts_and_numbers_of_proposals_are_keys() {
        let members = format!(r#"{{"program_id":7,"title":"x","research_type":"Añ\"b","researcher_id":"{}"}}"#, "é".repeat(300));
        let keys = Keys::of(Collection::PROPOSALS, &members);
        let keys: Vec<_> = keys.columns().iter().map(Option::as_deref).collect();
        assert_eq!(keys, [Some("7"), Some("Añ\"b"), Some("é".repeat(LENGTH).as_str()), None]);
        assert_eq!(Keys::of(Collection::FILES, &members), Keys::default());
    }
}
