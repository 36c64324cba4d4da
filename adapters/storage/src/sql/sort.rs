//! The order of a page as SQL: what rows are sorted by, and which lie beyond a place.

use application::query::{SortKey, SortPosition, SortValue, Subject};
use domain::{Collection, Members};
use sea_orm::{DbErr, QueryResult, Value};

use crate::sql::filter::numeric;
use crate::sql::json_member::Member;
use crate::sql::row_mapping;
use crate::sql::sql_text::SqlText;

/// One expression that rows are sorted by.
struct Component {
    expression: String,
    descending: bool,
}

/// The order of a page.
pub(crate) struct Order {
    /// Per key: the SQL of the value that a place remembers, and the components it is sorted by.
    keys: Vec<(String, Vec<Component>)>,
    is_id_descending: bool,
}

impl Order {
    /// Keys after the key `id` sort nothing any more.
    pub fn new(text: &mut SqlText, collection: Collection, keys: &[SortKey]) -> Self {
        let mut order = Self { keys: Vec::new(), is_id_descending: false };
        for key in keys {
            if key.subject == Subject::Id {
                order.is_id_descending = key.descending;
                break;
            }
            order.keys.push(sorted(text, collection, key));
        }
        order
    }

    /// Returns whether it is the order of the ids alone.
    pub const fn is_by_id(&self) -> bool {
        self.keys.is_empty()
    }

    /// How the ids from a mark on, and those before it, compare with the mark's.
    pub const fn signs_at_mark(&self) -> [&'static str; 2] {
        if self.is_id_descending { ["<", ">="] } else { [">=", "<"] }
    }

    /// The values a place remembers, each with a leading comma.
    pub fn columns(&self) -> String {
        let columns = self.keys.iter().enumerate();
        let columns = columns.map(|(number, (value, _))| format!(", {value} AS key_{number}"));
        columns.collect()
    }

    /// The text after `ORDER BY`.
    pub fn clause(&self, is_backward: bool) -> String {
        let direction = |descending: bool| if descending == is_backward { "" } else { " DESC" };
        let components = self.keys.iter().flat_map(|(_, components)| components);
        let keys = components.map(|component| {
            format!("{}{}, ", component.expression, direction(component.descending))
        });
        format!("{}w.id{}", keys.collect::<String>(), direction(self.is_id_descending))
    }

    /// The condition that a row lies beyond the position.
    pub fn beyond(&self, text: &mut SqlText, place: &SortPosition, is_backward: bool) -> String {
        let sign = |descending: bool| if descending == is_backward { ">" } else { "<" };
        let id = text.bind(place.id.uuid());
        let mut condition = format!("w.id {} {id}", sign(self.is_id_descending));
        let mut bounds = Vec::new();
        for ((_, components), value) in self.keys.iter().zip(&place.keys) {
            bounds.extend(components.iter().zip(bound(text, components.len(), value)));
        }
        for (Component { expression, descending }, value) in bounds.iter().rev() {
            let sign = sign(*descending);
            // Said first on its own, so that an index on the first key is walked from there.
            condition = format!(
                "({expression} {sign}= {value} AND ({expression} {sign} {value} OR {condition}))"
            );
        }
        condition
    }

    /// The place of a row.
    pub fn place(&self, row: &QueryResult) -> Result<SortPosition, DbErr> {
        let keys = (0..self.keys.len())
            .map(|number| sort_value(row_mapping::get(row, &format!("key_{number}"))?));
        Ok(SortPosition {
            keys: keys.collect::<Result<_, DbErr>>()?,
            id: row_mapping::item_id(row, "place")?,
        })
    }
}

fn sorted(text: &mut SqlText, collection: Collection, key: &SortKey) -> (String, Vec<Component>) {
    let descending = key.descending;
    let component = |expression: String| Component { expression, descending };
    let Some(member) = Member::of_subject(text, collection, &key.subject) else {
        let column = match key.subject {
            Subject::CreatedAt => "w.created_at",
            Subject::Score => "w.score",
            _ => "w.updated_at",
        };
        return (format!("CAST({column} AS TEXT)"), vec![component(column.to_owned())]);
    };
    let is_absent = |condition: String| Component {
        expression: format!("CASE WHEN {condition} THEN 0 ELSE 1 END"),
        descending: false,
    };
    let components = if member.is_text() {
        vec![is_absent(member.exists()), component(format!("COALESCE({}, '')", member.as_string()))]
    } else {
        let parts = [member.type_rank(), member.number(), member.text_or_json()].map(component);
        [is_absent(member.exists())].into_iter().chain(parts).collect()
    };
    (member.as_json(), components)
}

/// The values of a key's components at a place.
fn bound(text: &mut SqlText, components: usize, value: &SortValue) -> Vec<String> {
    let (rank, number, letters) = match value {
        SortValue::Number(number) => (0, number.as_ref(), ""),
        SortValue::String(letters) => (1, "0", letters.as_ref()),
        SortValue::Other(json) => (2, "0", json.as_ref()),
        SortValue::Absent => (3, "0", ""),
    };
    let is_absent = i32::from(rank == 3).to_string();
    match components {
        1 => vec![column_value(text, number)],
        2 => vec![is_absent, text.bind(letters)],
        _ => vec![is_absent, rank.to_string(), numeric(text, number), text.bind(letters)],
    }
}

/// Times are whole, scores are not.
fn column_value(text: &mut SqlText, number: &str) -> String {
    let value: Value = match number.parse::<i64>() {
        Ok(whole) => whole.into(),
        Err(_) => number.parse::<f64>().unwrap_or_default().into(),
    };
    text.bind(value)
}

/// Understands the JSON text of a value, or the text of a number.
fn sort_value(json: Option<String>) -> Result<SortValue, DbErr> {
    let Some(json) = json.filter(|json| json != "null") else { return Ok(SortValue::Absent) };
    Ok(match json.as_bytes().first() {
        Some(b'"') => {
            let object = Members::read(format!("{{\"v\":{json}}}").as_bytes()).ok().flatten();
            let letters = object.as_ref().and_then(|object| {
                object.get("v")?.as_string().map(|letters| letters.into_owned().into())
            });
            SortValue::String(
                letters.ok_or_else(|| DbErr::Type("a sort key is not JSON text".to_owned()))?,
            )
        }
        Some(b'{' | b'[' | b't' | b'f') => SortValue::Other(json.into()),
        _ => SortValue::Number(json.into()),
    })
}
