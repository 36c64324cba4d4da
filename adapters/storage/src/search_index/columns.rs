//! The columns of the full-text index of SQLite: each is of one top-level member of a collection.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::LazyLock;

use domain::Collection;

use crate::error::DbResult;
use crate::sql::row_mapping::{Columns, FromRow, collection, not_understood};

/// The columns of members. The last one has the words of members without their own.
pub(crate) const COLUMNS: usize = 32;
const OTHERS: usize = COLUMNS - 1;

/// The columns for members that clients name. The rest is for known members.
const MOST_UNKNOWN: usize = 24;

/// A member and its column.
pub(crate) struct MemberColumn {
    pub collection: Collection,
    pub member: String,
    pub number: usize,
}

impl FromRow for MemberColumn {
    fn from_row(row: &impl Columns) -> DbResult<Self> {
        let number: i64 = row.get("number")?;
        let number = usize::try_from(number).map_err(|error| not_understood("number", error))?;
        Ok(Self { collection: collection(row)?, member: row.get("member")?, number })
    }
}

/// The columns of the members of all collections.
#[derive(Default)]
pub(crate) struct MemberColumns {
    known: HashMap<Collection, HashMap<String, usize>>,
    pub added: Vec<MemberColumn>,
}

impl MemberColumns {
    pub fn of(rows: Vec<MemberColumn>) -> Self {
        let mut columns = Self::default();
        for MemberColumn { collection, member, number } in rows {
            columns.known.entry(collection).or_default().insert(member, number);
        }
        columns
    }

    /// Returns the column of a member, which may be a new one.
    pub fn number(&mut self, collection: Collection, member: &str) -> usize {
        if let Entry::Vacant(new) = self.known.entry(collection) {
            new.insert(HashMap::new());
            for (known, _) in collection.known_members() {
                self.add(collection, known, OTHERS);
            }
        }
        match self.known[&collection].get(member) {
            Some(number) => *number,
            None => self.add(collection, member, MOST_UNKNOWN).unwrap_or(OTHERS),
        }
    }

    fn add(&mut self, collection: Collection, member: &str, most: usize) -> Option<usize> {
        let known = self.known.entry(collection).or_default();
        let number = known.len();
        if number >= most {
            return None;
        }
        known.insert(member.to_owned(), number);
        self.added.push(MemberColumn { collection, member: member.to_owned(), number });
        Some(number)
    }
}

/// Stores the words of items. Parameters and result: those of `words.sql`; `words` has the position
/// of the words of each column in $2, from 1, and their bytes.
pub(crate) static INSERT: LazyLock<String> = LazyLock::new(|| {
    let names: Vec<_> = (0..COLUMNS).map(|number| format!("m{number}")).collect();
    let text = |number| {
        format!(
            "CAST(substr($2, value ->> '$.words.{number}[0]', value ->> '$.words.{number}[1]') AS TEXT)"
        )
    };
    let texts: Vec<_> = (0..COLUMNS).map(text).collect();
    format!(
        "INSERT OR REPLACE INTO search_index (rowid, {}) SELECT value ->> 'number', {} FROM json_each($1) \
         WHERE value ->> 'words' IS NOT NULL",
        names.join(", "),
        texts.join(", ")
    )
});

#[cfg(test)]
mod tests {
    use domain::Collection;

    use super::{COLUMNS, MOST_UNKNOWN, MemberColumns, OTHERS};

    #[test]
    fn known_members_have_columns_regardless_of_other_names() {
        for collection in Collection::all() {
            let known = collection.known_members().count();
            assert!(known < COLUMNS, "{collection:?} has {known} known members; add columns");
            let mut columns = MemberColumns::default();
            for number in 0..100 {
                columns.number(collection, &format!("x{number}"));
            }
            for (number, (name, _)) in collection.known_members().enumerate() {
                assert_eq!(columns.number(collection, name), number);
            }
            let first = columns.number(collection, "x0");
            assert_eq!(first, if known < MOST_UNKNOWN { known } else { OTHERS });
            assert_eq!(columns.number(collection, "x99"), OTHERS);
        }
    }
}
