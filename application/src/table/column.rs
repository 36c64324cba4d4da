use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use domain::proposal::FieldKind;
use domain::{Collection, Fields};

use super::cell::{marked, unmarked};

const ID: &str = "id";

const VERSION: &str = "_version";

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Column {
    Id,
    /// The item's version. The row changes only this version.
    Version,
    Parent,
    Member {
        name: Arc<str>,
        /// The kind of its values, if it is a field.
        kind: Option<FieldKind>,
    },
}

impl Column {
    /// The first columns of every export.
    pub fn leading(collection: Collection) -> Vec<Self> {
        let parent = collection.spec().parent.map(|_| Self::Parent);
        [Self::Id, Self::Version].into_iter().chain(parent).collect()
    }

    pub fn member(collection: Collection, name: &str) -> Self {
        let kind = match collection.spec().fields {
            Fields::Typed(fields) => {
                fields.iter().find(|field| field.name == name).map(|field| field.kind)
            }
            Fields::Open(_) => None,
        };
        Self::Member { name: name.into(), kind }
    }

    /// The name in the first row. A member's name gets an apostrophe if it is reserved, or if a
    /// spreadsheet would treat it as a formula.
    pub fn name(&self, collection: Collection) -> String {
        match self {
            Self::Id => ID.to_owned(),
            Self::Version => VERSION.to_owned(),
            Self::Parent => parent(collection).unwrap_or_default().to_owned(),
            Self::Member { name, .. } if special(collection, name).is_some() => format!("'{name}"),
            // Names that look like numbers need no mark.
            Self::Member { name, .. } => {
                marked(name.as_ref().into(), Some(FieldKind::String)).into_owned()
            }
        }
    }

    /// The name in a JSON file. It gets an apostrophe only if it would otherwise read as reserved
    /// or marked.
    pub fn name_in_json(collection: Collection, member: &str) -> Cow<'_, str> {
        if special(collection, member).is_some() || unmarked(member).is_some() {
            format!("'{member}").into()
        } else {
            member.into()
        }
    }

    pub fn named(collection: Collection, written: &str) -> Self {
        match unmarked(written) {
            Some(name) => Self::member(collection, name),
            None => {
                special(collection, written).unwrap_or_else(|| Self::member(collection, written))
            }
        }
    }
}

#[derive(Debug)]
pub struct Columns {
    columns: Vec<Column>,
    by_member: HashMap<Arc<str>, usize>,
}

impl Columns {
    /// Reads the first row. The error is the duplicate name.
    pub fn named<'a>(
        collection: Collection,
        names: impl Iterator<Item = &'a str>,
    ) -> Result<Self, String> {
        let (mut columns, mut by_member) = (Vec::new(), HashMap::new());
        let mut seen = HashSet::new();
        for name in names {
            let column = Column::named(collection, name);
            if !seen.insert(column.clone()) {
                return Err(name.to_owned());
            }
            if let Column::Member { name, .. } = &column {
                by_member.insert(Arc::clone(name), columns.len());
            }
            columns.push(column);
        }
        Ok(Self { columns, by_member })
    }

    pub fn all(&self) -> &[Column] {
        &self.columns
    }

    /// The index of the column for an error of a field.
    pub fn of_error(&self, collection: Collection, field: &str) -> Option<usize> {
        let own = special(collection, field)
            .and_then(|own| self.columns.iter().position(|column| *column == own));
        own.or_else(|| self.by_member.get(field).copied())
    }

    pub fn of_member(&self, name: &str) -> Option<(usize, Option<FieldKind>)> {
        let place = *self.by_member.get(name)?;
        match &self.columns[place] {
            Column::Member { kind, .. } => Some((place, *kind)),
            Column::Id | Column::Version | Column::Parent => None,
        }
    }
}

fn special(collection: Collection, name: &str) -> Option<Column> {
    match name {
        ID => Some(Column::Id),
        VERSION => Some(Column::Version),
        _ => (parent(collection) == Some(name)).then_some(Column::Parent),
    }
}

fn parent(collection: Collection) -> Option<&'static str> {
    collection.spec().parent.map(|parent| parent.rel)
}

#[cfg(test)]
mod tests {
    use domain::Collection;

    use super::{Column, Columns};

    #[test]
    fn names_are_read_back_from_columns_and_from_json() {
        let collection = Collection::known("lib");
        for (member, name, name_in_json) in [
            ("id", "'id", "'id"),
            ("_version", "'_version", "'_version"),
            ("proposal", "'proposal", "'proposal"),
            ("'x", "''x", "''x"),
            ("=x", "'=x", "=x"),
            ("@x", "'@x", "@x"),
            ("", "'", ""),
            ("42", "42", "42"),
            ("unit cost", "unit cost", "unit cost"),
        ] {
            let column = Column::member(collection, member);
            assert_eq!(column.name(collection), name);
            assert_eq!(Column::name_in_json(collection, member), name_in_json);
            for written in [name, name_in_json] {
                assert_eq!(Column::named(collection, written), column, "{written}");
            }
        }
        for column in Column::leading(collection) {
            assert_eq!(Column::named(collection, &column.name(collection)), column);
        }
        let files = Collection::known("files");
        assert_eq!(Column::member(files, "proposal").name(files), "proposal");
        assert_eq!(Column::name_in_json(files, "proposal"), "proposal");
    }

    #[test]
    fn a_name_is_used_once() {
        let files = Collection::known("files");
        let named = |names: &[&str]| Columns::named(files, names.iter().copied());
        for (names, twice) in [(["id", "a", "id"], "id"), (["x", "y", "'x"], "'x")] {
            assert_eq!(named(&names).err(), Some(twice.into()));
        }
        let columns = named(&["id", "'id"]).unwrap();
        assert_eq!((columns.all().len(), columns.of_member("id")), (2, Some((1, None))));
    }
}
