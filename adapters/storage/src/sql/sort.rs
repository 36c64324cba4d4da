//! The order of a page: the expressions that rows are sorted by, and the rows beyond a place.

use application::Reach;
use application::query::{SortKey, SortPosition, SortValue, Subject};
use domain::json::Kind;
use sea_orm::QueryResult;

use crate::error::DbResult;
use crate::sql::filter::numeric;
use crate::sql::indexed_columns::{compares_to_keys, key_of_text};
use crate::sql::sql_text::SqlText;
use crate::sql::{mask, row_mapping};

struct Component {
    expression: String,
    descending: bool,
    part: Part,
}

/// The part of a value that a component compares.
#[derive(Clone, Copy)]
enum Part {
    /// A time or a score, which is a column.
    Column,
    Absence,
    TypeRank,
    Number,
    String,
    /// The beginning of a text, as in the key's column.
    StringKey,
    /// The whole text if the column has only its beginning, otherwise the empty text.
    LongString,
}

struct Key {
    /// The SQL of the value that a place remembers.
    value: String,
    /// Its column with an index, if it has one.
    column: Option<&'static str>,
    components: Vec<Component>,
}

pub(crate) struct Order {
    keys: Vec<Key>,
    is_id_descending: bool,
    /// The column of the first key, if its index is used, which has no rows without a value.
    indexed: Option<&'static str>,
}

/// Rows that are read one after the other, by an index if there is one.
pub(crate) struct Run {
    /// The condition, with a leading `AND`.
    pub condition: String,
    pub sorted: String,
    /// True for the rows that the index of the first key has.
    pub is_by_index: bool,
}

impl Order {
    /// Keys after the id have no effect.
    pub fn new(text: &mut SqlText, reach: &Reach, keys: &[SortKey]) -> Self {
        let mut order = Self { keys: Vec::new(), is_id_descending: false, indexed: None };
        for key in keys {
            if key.subject == Subject::Id {
                order.is_id_descending = key.descending;
                break;
            }
            order.keys.push(sorted(text, reach, key));
        }
        order
    }

    /// Like [`Self::new`], for rows of `items`: the index of the first key is used.
    pub fn by_index(text: &mut SqlText, reach: &Reach, keys: &[SortKey]) -> Self {
        let mut order = Self::new(text, reach, keys);
        if let Some(key) = order.keys.first_mut()
            && let Some(column) = key.column
        {
            // The column alone, as in the index; each part has one condition on it.
            key.components.remove(0);
            key.components[0].expression = format!("w.{column}");
            order.indexed = Some(column);
        }
        order
    }

    pub const fn is_by_id(&self) -> bool {
        self.keys.is_empty()
    }

    /// Compare the ids from a mark on, and those before it, with the mark's.
    pub const fn signs_at_mark(&self) -> [&'static str; 2] {
        if self.is_id_descending { ["<", ">="] } else { [">=", "<"] }
    }

    /// The values a place remembers, each after a comma.
    pub fn columns(&self) -> String {
        let columns = self.keys.iter().enumerate();
        let columns = columns.map(|(number, key)| format!(", {} AS sort_{number}", key.value));
        columns.collect()
    }

    pub fn clause(&self, is_backward: bool) -> String {
        self.clause_from(0, is_backward)
    }

    fn clause_from(&self, first_key: usize, is_backward: bool) -> String {
        let components = self.components(first_key);
        let components = components.map(|one| (one.expression.clone(), one.descending));
        self.sorted(components, "w.id", is_backward)
    }

    /// The columns `order_0`, …, each after a comma, and the `ORDER BY` text for them and `place`.
    pub fn output(&self, is_backward: bool) -> (String, String) {
        let components = || self.components(0).enumerate();
        let columns = components().map(|(n, one)| format!(", {} AS order_{n}", one.expression));
        let names = components().map(|(n, one)| (format!("order_{n}"), one.descending));
        (columns.collect(), self.sorted(names, "place", is_backward))
    }

    fn components(&self, first_key: usize) -> impl Iterator<Item = &Component> {
        self.keys[first_key..].iter().flat_map(|key| &key.components)
    }

    fn sorted(
        &self,
        expressions: impl Iterator<Item = (String, bool)>,
        id: &str,
        is_backward: bool,
    ) -> String {
        let direction = |descending: bool| if descending == is_backward { "" } else { " DESC" };
        let keys = expressions.map(|(key, descending)| format!("{key}{}, ", direction(descending)));
        format!("{}{id}{}", keys.collect::<String>(), direction(self.is_id_descending))
    }

    /// The rows beyond a place, or all. Rows without a value of the first key are a separate run.
    pub fn runs(
        &self,
        text: &mut SqlText,
        place: Option<&SortPosition>,
        is_backward: bool,
    ) -> Vec<Run> {
        let Some(column) = self.indexed else {
            let beyond = place.map(|place| self.beyond(text, place, 0, is_backward));
            let condition = beyond.map_or_else(String::new, |beyond| format!(" AND {beyond}"));
            return vec![Run { condition, sorted: self.clause(is_backward), is_by_index: false }];
        };
        let is_absent = |place: &SortPosition| place.keys.first() == Some(&SortValue::Absent);
        let is_before = |absent: &bool| place.is_some_and(|place| is_absent(place) != *absent);
        let mut runs = Vec::new();
        for absent in [is_backward, !is_backward].into_iter().skip_while(is_before) {
            let (null, first_key) = if absent { ("IS NULL", 1) } else { ("IS NOT NULL", 0) };
            let mut condition = format!(" AND w.{column} {null}");
            if let Some(place) = place.filter(|_| runs.is_empty()) {
                let beyond = self.beyond(text, place, first_key, is_backward);
                condition = format!("{condition} AND {beyond}");
            }
            let sorted = self.clause_from(first_key, is_backward);
            runs.push(Run { condition, sorted, is_by_index: !absent });
        }
        runs
    }

    /// The condition that a row lies beyond the place by the keys from this one on.
    fn beyond(
        &self,
        text: &mut SqlText,
        place: &SortPosition,
        first_key: usize,
        is_backward: bool,
    ) -> String {
        let sign = |descending: bool| if descending == is_backward { ">" } else { "<" };
        let id = text.bind(place.id.uuid());
        let mut condition = format!("w.id {} {id}", sign(self.is_id_descending));
        let mut bounds = Vec::new();
        for (key, value) in self.keys.iter().zip(&place.keys).skip(first_key) {
            for component in &key.components {
                bounds.push((component, bound(text, component.part, value)));
            }
        }
        for (Component { expression, descending, .. }, value) in bounds.iter().rev() {
            let sign = sign(*descending);
            // Alone at the beginning, so that an index on the first key is walked from there.
            condition = format!(
                "({expression} {sign}= {value} AND ({expression} {sign} {value} OR {condition}))"
            );
        }
        condition
    }

    pub fn place(&self, row: &QueryResult) -> DbResult<SortPosition> {
        let value = |number| row_mapping::get(row, &format!("sort_{number}")).map(sort_value);
        let keys = (0..self.keys.len()).map(value).collect::<Result<_, _>>()?;
        Ok(SortPosition { keys, id: row_mapping::item_id(row, "place")? })
    }
}

fn sorted(text: &mut SqlText, reach: &Reach, key: &SortKey) -> Key {
    let component = |(part, expression)| Component { expression, descending: key.descending, part };
    let Some(member) = mask::member_of(text, reach, &key.subject) else {
        let column = match key.subject {
            Subject::CreatedAt => "w.created_at",
            Subject::Score => "w.score",
            _ => "w.updated_at",
        };
        let value = format!("CAST({column} AS TEXT)");
        let components = vec![component((Part::Column, column.to_owned()))];
        return Key { value, column: None, components };
    };
    let column = member.column_of_text();
    let (value, exists) = match column {
        Some(column) => (member.value_of(column), format!("w.{column} IS NOT NULL")),
        None => (member.as_json(), member.exists()),
    };
    let text = |text: &str| format!("COALESCE({text}, '')");
    let parts = match column {
        Some(column) if member.is_short() => vec![(Part::String, text(&format!("w.{column}")))],
        Some(column) => vec![
            (Part::StringKey, text(&format!("w.{column}"))),
            (Part::LongString, member.cut_text(column)),
        ],
        None if member.is_text() => vec![(Part::String, text(&member.as_string()))],
        None => vec![
            (Part::TypeRank, member.type_rank()),
            (Part::Number, member.number()),
            (Part::String, member.text_or_json()),
        ],
    };
    let expression = format!("CASE WHEN {exists} THEN 0 ELSE 1 END");
    let absent_last = Component { expression, descending: false, part: Part::Absence };
    let parts = parts.into_iter().map(component);
    Key { value, column, components: std::iter::once(absent_last).chain(parts).collect() }
}

fn bound(text: &mut SqlText, part: Part, value: &SortValue) -> String {
    let (rank, number, letters) = match value {
        SortValue::Number(number) => (0, number.as_ref(), ""),
        SortValue::String(letters) => (1, "0", letters.as_ref()),
        SortValue::Other(json) => (2, "0", json.as_ref()),
        SortValue::Absent => (3, "0", ""),
    };
    match part {
        // Times are whole, scores are not.
        Part::Column => match number.parse::<i64>() {
            Ok(whole) => text.bind(whole),
            Err(_) => text.bind(number.parse::<f64>().unwrap_or_default()),
        },
        Part::Absence => u8::from(rank == 3).to_string(),
        Part::TypeRank => rank.to_string(),
        Part::Number => numeric(text, number),
        Part::String => text.bind(letters),
        Part::StringKey => text.bind(key_of_text(letters)),
        Part::LongString => text.bind(if compares_to_keys(letters) { "" } else { letters }),
    }
}

/// Takes the JSON of a value, or a number.
fn sort_value(json: Option<String>) -> SortValue {
    let json = json.unwrap_or_default();
    let value = domain::Value::from_encoded(&json);
    match value.kind() {
        Kind::Null => SortValue::Absent,
        Kind::Number => SortValue::Number(json.into()),
        Kind::String => SortValue::String(value.as_string().unwrap_or_default().into()),
        Kind::Boolean | Kind::Array | Kind::Object => SortValue::Other(json.into()),
    }
}

#[cfg(test)]
mod tests {
    use application::query::{
        PageQuery, PageStart, Selection, SortKey, SortPosition, SortValue, Subject,
    };
    use application::{Reach, Scope};
    use domain::proposal::FieldKind;
    use domain::{Collection, ItemId};
    use rusqlite::Connection;
    use uuid::Uuid;

    use crate::migration::schema;
    use crate::sql::dialect::SQLITE;
    use crate::sql::page::PageStatement;

    fn plan(position: PageStart, name: &str, kind: FieldKind, descending: bool) -> Vec<String> {
        let subject = Subject::Member { name: name.into(), kind: Some(kind) };
        let query = PageQuery {
            selection: Selection { filters: Vec::new(), search: None },
            order: vec![SortKey { subject, descending }],
            position,
            limit: 25,
            fields: None,
            is_counted: true,
            count_by: None,
            related: Vec::new(),
        };
        let reach = Reach::of_the_service(Scope::of(Collection::known("proposals")));
        let page = PageStatement::new(&SQLITE, &reach, &query, None, None);
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(schema(&SQLITE)).unwrap();
        let explained = format!("EXPLAIN QUERY PLAN {}", page.statement.sql);
        let mut plan = connection.prepare(&explained).unwrap();
        let parameters = rusqlite::params_from_iter((0..plan.parameter_count()).map(|_| 1));
        let steps = plan.query_map(parameters, |row| row.get("detail")).unwrap();
        steps.map(Result::unwrap).collect()
    }

    #[test]
    fn a_page_sorted_by_an_indexed_text_is_walked_in_its_index() {
        let place = || {
            let keys = vec![SortValue::String("2026-01-01".into())];
            SortPosition { keys, id: ItemId::from_uuid(Uuid::nil()) }
        };
        for position in
            [PageStart::Offset(0), PageStart::After(place()), PageStart::Before(place())]
        {
            for (name, kind, index) in [
                ("start_date", FieldKind::Date, "items_by_key_4"),
                ("research_type", FieldKind::String, "items_by_key_2"),
            ] {
                for descending in [false, true] {
                    let plan = plan(position.clone(), name, kind, descending);
                    let context = format!("{position:?} {name} {descending} {plan:#?}");
                    let walks = format!("w USING INDEX {index} (");
                    let walk = plan.iter().position(|step| step.contains(&walks));
                    let next = plan.get(walk.expect(&context) + 1);
                    assert!(
                        next.is_some_and(|step| step != "USE TEMP B-TREE FOR ORDER BY"),
                        "{context}"
                    );
                }
            }
        }
    }
}
