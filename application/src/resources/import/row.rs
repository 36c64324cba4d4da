//! The rows of an import, and the members that a row makes of an item.

use std::borrow::Cow;
use std::sync::Arc;

use domain::content::META;
use domain::json::encode_string;
use domain::{
    ItemId, JsonErrorKind, Members, Pointer, Value, Version, Violation, Violations, WriteOperation,
};

use crate::table::{Cell, Column, Columns};

#[derive(Clone, Debug)]
pub struct ImportRow {
    pub number: u64,
    /// The line in the file or the row of the sheet, from 1.
    pub line: Option<u64>,
    pub content: Result<RowContent, Violation>,
}

impl ImportRow {
    pub(super) fn id(&self) -> Option<ItemId> {
        ItemId::parse(self.content.as_ref().ok()?.id.as_deref()?)
    }
}

#[derive(Clone, Debug)]
pub struct RowContent {
    pub id: Option<String>,
    pub version: Option<String>,
    pub parent: Option<String>,
    pub members: RowMembers,
}

#[derive(Clone, Debug)]
pub enum RowMembers {
    Whole(Members),
    /// The members of some columns; the item keeps the others.
    Cells {
        columns: Arc<Columns>,
        /// The cells from the first column on; trailing ones may be missing.
        cells: Vec<Cell<'static>>,
    },
}

#[derive(Clone, Debug)]
pub struct ImportedRow {
    pub number: u64,
    /// The line in the file or the row of the sheet, from 1.
    pub line: Option<u64>,
    /// The item; `None` for a row that was refused or would be created.
    pub id: Option<ItemId>,
    pub version: Option<Version>,
    pub outcome: RowOutcome,
    pub warnings: Violations,
    /// The members that a dry run would change; the first ones of all rows.
    pub changes: Vec<MemberChange>,
}

/// The values of a member as text: a string as it is, another value as JSON. `None` if it is absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberChange {
    pub name: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

impl MemberChange {
    /// Compares all members.
    pub(super) fn between(before: &Members, after: &Members) -> Vec<Self> {
        let text = |value: Value<'_>| {
            let string = value.as_string().map(Cow::into_owned);
            string.unwrap_or_else(|| value.encoded().to_owned())
        };
        let removed = before.iter().map(|(name, _)| name).filter(|name| after.get(name).is_none());
        let names = after.iter().map(|(name, _)| name).chain(removed);
        let changed = names.filter_map(|name| {
            let [old, new] = [before, after].map(|members| members.get(&name));
            let is_same = old.map(Value::encoded) == new.map(Value::encoded);
            (!is_same && name != META).then(|| Self {
                before: old.map(text),
                after: new.map(text),
                name: name.into_owned(),
            })
        });
        changed.collect()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowOutcome {
    Created,
    Replaced,
    /// The item has these members already.
    Unchanged,
    Refused(Violations),
}

impl ImportedRow {
    pub(super) fn unchanged(row: &ImportRow) -> Self {
        Self { id: row.id(), ..Self::of(row, RowOutcome::Unchanged) }
    }

    pub(super) fn written(
        row: &ImportRow,
        operation: WriteOperation,
        id: ItemId,
        version: Version,
    ) -> Self {
        let outcome = match operation {
            WriteOperation::Create => RowOutcome::Created,
            _ => RowOutcome::Replaced,
        };
        Self { id: Some(id), version: Some(version), ..Self::of(row, outcome) }
    }

    pub(super) fn of(row: &ImportRow, outcome: RowOutcome) -> Self {
        let ImportRow { number, line, .. } = *row;
        let (warnings, changes) = (Violations::default(), Vec::new());
        Self { number, line, id: None, version: None, outcome, warnings, changes }
    }

    pub(super) const fn is_written(&self) -> bool {
        matches!(self.outcome, RowOutcome::Created | RowOutcome::Replaced)
    }

    pub const fn is_refused(&self) -> bool {
        matches!(self.outcome, RowOutcome::Refused(_))
    }
}

impl RowContent {
    pub fn of_cells(columns: &Arc<Columns>, cells: Vec<Cell<'static>>) -> Self {
        let string = |wanted: &Column| {
            let place = columns.all().iter().position(|column| column == wanted)?;
            cells.get(place)?.as_written().map(str::to_owned)
        };
        let [id, version, parent] =
            [Column::Id, Column::Version, Column::Parent].map(|own| string(&own));
        let columns = Arc::clone(columns);
        Self { id, version, parent, members: RowMembers::Cells { columns, cells } }
    }

    /// Reads an object like a row: members with reserved names identify the item. Those must be
    /// strings or numbers, and the rest must be valid members of an item.
    pub fn of_object(
        object: &Members,
        column_of: impl Fn(&str) -> Column,
    ) -> Result<Self, Violation> {
        let (mut id, mut version, mut parent) = (None, None, None);
        let mut own = Vec::new();
        for (name, value) in object.iter() {
            match column_of(&name) {
                Column::Id => id = named(&name, value)?,
                Column::Version => version = named(&name, value)?,
                Column::Parent => parent = named(&name, value)?,
                Column::Member { name, .. } => own.push(encoded_member(&name, value.encoded())),
            }
        }
        Ok(Self { id, version, parent, members: RowMembers::Whole(read_object(&own)?) })
    }
}

/// The identifier or version; `None` for `null`.
fn named(name: &str, value: Value<'_>) -> Result<Option<String>, Violation> {
    match value.as_written() {
        Some(written) => Ok(Some(written.into_owned())),
        None if value.is_null() => Ok(None),
        None => {
            let detail = format!(
                "`{name}` must be a string or a number. Send the exported value, or omit it."
            );
            Err(Violation::of_member(name, "malformed_reference", detail))
        }
    }
}

impl RowMembers {
    /// Returns the item's members after the row, in their previous order.
    pub(super) fn applied_to(&self, before: Option<&Members>) -> Result<Members, Violation> {
        let (columns, cells) = match self {
            Self::Whole(members) => return Ok(members.clone()),
            Self::Cells { columns, cells } => (columns, cells),
        };
        let mut after = Vec::new();
        let mut add = |name: &str, encoded: &str| after.push(encoded_member(name, encoded));
        for (name, value) in before.into_iter().flat_map(Members::iter) {
            let column = columns.of_member(&name);
            let cell = column.and_then(|(place, _)| cells.get(place)).unwrap_or(&Cell::Empty);
            match column {
                Some((_, kind)) if !Cell::of(Some(value), kind).is_shown_by(cell) => {
                    require_whole(&name, cell)?;
                    cell.encoded(kind).iter().for_each(|encoded| add(&name, encoded));
                }
                _ => add(&name, value.encoded()),
            }
        }
        for (column, cell) in columns.all().iter().zip(cells) {
            if let Column::Member { name, kind } = column
                && let Some(encoded) = cell.encoded(*kind)
                && before.is_none_or(|before| before.get(name).is_none())
            {
                require_whole(name, cell)?;
                add(name, &encoded);
            }
        }
        read_object(&after)
    }
}

/// Refuses a truncated text, which would replace the whole one.
fn require_whole(name: &str, cell: &Cell<'_>) -> Result<(), Violation> {
    if !cell.is_truncated() {
        return Ok(());
    }
    let detail = "The cell ends with the mark of a truncated text, but the stored text has another beginning or length. Restore the exported cell, or enter the whole text without the mark.";
    Err(Violation::of_member(name, "truncated_text", detail))
}

fn encoded_member(name: &str, encoded: &str) -> String {
    format!("{}:{encoded}", encode_string(name))
}

/// Reads an object of valid names and values. It can still be nested too deeply, or contain a name
/// twice, once with an apostrophe.
fn read_object(members: &[String]) -> Result<Members, Violation> {
    let read = Members::read(format!("{{{}}}", members.join(",")).as_bytes());
    read.map(Option::unwrap_or_default).map_err(|error| {
        let (code, detail) = match error.kind {
            JsonErrorKind::TooDeep => (
                "too_deep",
                "A value is nested too deeply for an item. Flatten its arrays and objects.".into(),
            ),
            _ => ("malformed_row", format!("The row is not an item: {error}")),
        };
        Violation::new(Pointer::root(), code, detail)
    })
}

#[cfg(test)]
mod tests {
    use domain::{Collection, Members};

    use std::sync::Arc;

    use super::RowContent;
    use crate::table::{Cell, Column, Columns};

    fn members(json: &str) -> Members {
        Members::read(json.as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn cells_change_their_members_and_no_others() {
        let before = members(r#"{"b":1.50,"c":"x","d":[1, 2],"e":null,"f":"42"}"#);
        let files = Collection::known("files");
        for (before, cells, after) in [
            (Some(&before), ["b=1.5", "d=[1,2]", "e=null", "f='42", "z="], before.encoded()),
            (
                Some(&before),
                ["f=42", "c=", "b=2", "a=new", "z="],
                r#"{"b":2,"d":[1,2],"e":null,"f":42,"a":"new"}"#,
            ),
            (None, ["a=1", "b=", "c=", "d=", "e="], r#"{"a":1}"#),
        ] {
            let cells = cells.map(|cell| cell.split_once('=').unwrap());
            let columns = Columns::named(files, cells.iter().map(|(name, _)| *name)).unwrap();
            let cells = cells.iter().map(|(_, written)| Cell::sent(*written)).collect();
            let row = RowContent::of_cells(&Arc::new(columns), cells);
            assert_eq!(row.members.applied_to(before).unwrap().encoded(), after);
        }
    }

    #[test]
    fn what_says_which_item_it_is_is_not_guessed() {
        let files = Collection::known("files");
        for (object, code) in [
            (r#"{"id":["x"]}"#, "malformed_reference"),
            (r#"{"_version":{}}"#, "malformed_reference"),
            (r#"{"x":1,"'x":2}"#, "malformed_row"),
        ] {
            let read = RowContent::of_object(&members(object), |name| Column::named(files, name));
            assert_eq!(read.unwrap_err().code, code, "{object}");
        }
        let none =
            RowContent::of_object(&members(r#"{"id":null}"#), |name| Column::named(files, name));
        assert_eq!(none.unwrap().id, None);
    }
}
