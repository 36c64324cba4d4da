//! Predicates as conditions on a row, for the reach of a caller. A condition is never `NULL`. A
//! cast is in the branch of a `CASE` that the kind of its value selects: `AND` promises no order.

pub(crate) mod candidates;

use std::sync::Arc;

use domain::predicate::{
    Comparison, ItemState, Literal, Operand, Related, RelatedKey, RelatedValue, Subject, Test,
    ValueKind,
};
use domain::{ItemId, Predicate};
use sea_orm::DbBackend;

use crate::sql::indexed_columns::{self, LENGTH};
use crate::sql::json_member::Member;
use crate::sql::sql_text::SqlText;

const FALSE: &str = "FALSE";

/// A number beyond it compares as it does, because literals are at most 1e300.
const LARGEST: &str = "1e305";

/// Half of the smallest double: the largest number that is zero as a double.
const HALF_OF_SMALLEST: &str = "2.4703282292062327208e-324";

/// The condition of a reach.
pub(crate) type Only<'a> = Option<&'a Arc<Predicate>>;

/// The columns of an item, or of a version of it, in a statement.
pub(crate) struct Row {
    id: String,
    parent: String,
    created_by: String,
    created_at: String,
    members: String,
    /// The number of rows to which this one is related.
    depth: usize,
}

impl Row {
    /// A row of `items`, and the expression of its members.
    pub fn of(row: &str, members: &str) -> Self {
        let [id, parent, created_by, created_at] =
            ["id", "parent", "created_by", "created_at"].map(|column| format!("{row}.{column}"));
        Self { id, parent, created_by, created_at, members: members.to_owned(), depth: 0 }
    }

    /// A change, and the first change of its item.
    pub fn of_change(change: &str, first: &str) -> Self {
        Self {
            id: format!("{change}.item_id"),
            created_by: format!("{first}.caller"),
            created_at: format!("{first}.time"),
            ..Self::of(change, &format!("{change}.members"))
        }
    }
}

/// The condition that a row is in reach, with a leading `AND`; empty if every row of the scope is.
pub(crate) fn and_in_reach(sql: &mut SqlText, only: Only<'_>, row: &Row) -> String {
    let condition = only.map(|predicate| condition(sql, predicate, row));
    condition.map_or_else(String::new, |condition| format!(" AND {condition}"))
}

pub(crate) fn condition(sql: &mut SqlText, predicate: &Predicate, row: &Row) -> String {
    let mut joined = |parts: &[Predicate], operator, empty| {
        let parts: Vec<_> = parts.iter().map(|part| condition(sql, part, row)).collect();
        if parts.is_empty() { truth(empty) } else { joined(&parts, operator) }
    };
    match predicate {
        Predicate::Constant(holds) => truth(*holds),
        Predicate::All(parts) => joined(parts, " AND ", true),
        Predicate::Any(parts) => joined(parts, " OR ", false),
        Predicate::Not(part) => format!("NOT {}", condition(sql, part, row)),
        Predicate::Test(operand, test) => {
            let bound = sql.bound();
            let holds =
                current(operand).map_or_else(never, |subject| passes(sql, subject, test, row));
            if holds == FALSE {
                sql.unbind(bound);
            }
            holds
        }
        Predicate::Related(it) => related(sql, it, row).unwrap_or_else(never),
        Predicate::Equal(..) => {
            only_in_memory(predicate);
            never()
        }
    }
}

/// SQLite limits the depth of an expression, which a long list would have.
fn joined(parts: &[String], operator: &str) -> String {
    const MOST: usize = 50;
    if parts.len() <= MOST {
        return format!("({})", parts.join(operator));
    }
    let groups: Vec<_> = parts.chunks(MOST).map(|group| joined(group, operator)).collect();
    joined(&groups, operator)
}

fn truth(holds: bool) -> String {
    if holds { "TRUE".to_owned() } else { never() }
}

fn never() -> String {
    FALSE.to_owned()
}

fn current(operand: &Operand) -> Option<&Subject> {
    if operand.state == ItemState::Old {
        only_in_memory(operand);
    }
    (operand.state == ItemState::Present).then_some(&operand.subject)
}

fn only_in_memory(condition: &impl std::fmt::Debug) {
    debug_assert!(false, "judges a write, in memory: {condition:?}");
    tracing::error!(?condition, "a condition on a write was asked of the database");
}

fn passes(sql: &mut SqlText, subject: &Subject, test: &Test, row: &Row) -> String {
    match (subject, test) {
        (Subject::Member(path), _) => {
            let json = Json::at(sql, row, path.iter().map(|name| &**name));
            json.map_or_else(never, |json| json.passes(sql, row, path, test))
        }
        (_, Test::Exists) => truth(true),
        (Subject::CreatedAt, Test::Compare(comparison, Literal::Time(time))) => {
            let nanoseconds = time.as_nanosecond();
            let (micros, rest) = (nanoseconds.div_euclid(1000), nanoseconds.rem_euclid(1000));
            let micros = i64::try_from(micros).unwrap_or(i64::MAX);
            compares(sql, &row.created_at, *comparison, micros, rest == 0).unwrap_or_else(never)
        }
        (Subject::CreatedAt, _) => never(),
        (Subject::Id, _) => of_id(sql, &row.id, test),
        (Subject::Parent, _) => of_id(sql, &row.parent, test),
        (Subject::CreatedBy, _) => {
            let string = format!("{}{}", row.created_by, sql.dialect.by_code_point);
            let holds = of_string(sql, &string, test);
            of_column(&row.created_by, test, holds)
        }
    }
}

/// Compares ids, so that an index can be used, unless their order matters.
fn of_id(sql: &mut SqlText, column: &str, test: &Test) -> String {
    let holds = if let Test::Compare(Comparison::Equal, Literal::String(id)) = test {
        ItemId::parse(id).map(|id| format!("{column} = {}", sql.bind(id.uuid())))
    } else {
        let string = sql.dialect.text_of_id(column);
        of_string(sql, &string, test)
    };
    of_column(column, test, holds)
}

/// The condition on a column with a string or `NULL`, for which `holds` is a condition on strings.
fn of_column(column: &str, test: &Test, holds: Option<String>) -> String {
    match test {
        Test::Is(ValueKind::String) => format!("({column} IS NOT NULL)"),
        Test::Is(ValueKind::Null)
        | Test::Compare(Comparison::Equal | Comparison::AtMost, Literal::Null) => {
            format!("({column} IS NULL)")
        }
        _ => holds.map_or_else(never, |holds| format!("COALESCE({holds}, {FALSE})")),
    }
}

/// The condition on a string that is compared by code point; `None` if it never holds.
fn of_string(sql: &mut SqlText, string: &str, test: &Test) -> Option<String> {
    match test {
        Test::StartsWith(beginning) if !beginning.contains('\0') => {
            let length = beginning.chars().count();
            Some(format!("substr({string}, 1, {length}) = {}", sql.bind(&**beginning)))
        }
        Test::Compare(comparison, Literal::String(literal)) => {
            // Stored text has no such character, so the literal compares as its beginning does.
            let beginning = literal.split('\0').next().unwrap_or_default();
            let is_exact = beginning.len() == literal.len();
            compares(sql, string, *comparison, beginning, is_exact)
        }
        _ => None,
    }
}

/// Compares with a literal; with the stored value before the literal if it is not exact.
fn compares(
    sql: &mut SqlText,
    value: &str,
    comparison: Comparison,
    literal: impl Into<sea_orm::Value>,
    is_exact: bool,
) -> Option<String> {
    let operator = match comparison {
        Comparison::Equal if !is_exact => return None,
        Comparison::Equal => "=",
        Comparison::Less if is_exact => "<",
        Comparison::Less | Comparison::AtMost => "<=",
    };
    Some(format!("({value} {operator} {})", sql.bind(literal)))
}

/// A JSON value of a row.
struct Json {
    /// Its type as the engine names it; `NULL` if it is absent.
    kind: String,
    /// A number or a string as the engine's value.
    value: String,
    /// The rows `e` of the elements of a list.
    elements: String,
}

impl Json {
    /// The value at a path; `None` if no item has it. The operators find a name in objects alone.
    fn at<'p>(
        sql: &mut SqlText,
        Row { members, .. }: &Row,
        path: impl Iterator<Item = &'p str> + Clone,
    ) -> Option<Self> {
        if path.clone().any(|name| name.contains('\0')) {
            return None;
        }
        Some(if sql.dialect.backend == DbBackend::Sqlite {
            let path = sql.path(path);
            Self {
                kind: format!("json_type({members}, {path})"),
                value: format!("({members} ->> {path})"),
                elements: format!("json_each({members}, {path}) e"),
            }
        } else {
            let names: Vec<_> = path.map(|name| format!(" -> {}::text", sql.bind(name))).collect();
            let json = format!("({members}{})", names.concat());
            let elements = format!("json_array_elements({json}) e (value)");
            Self { elements, ..Self::of_postgres(&json) }
        })
    }

    fn of_postgres(json: &str) -> Self {
        let (kind, value) = (format!("json_typeof({json})"), format!("({json} #>> '{{}}')"));
        Self { kind, value, elements: String::new() }
    }

    fn element(backend: DbBackend) -> Self {
        match backend {
            DbBackend::Sqlite => {
                let [kind, value] = ["e.type", "e.value"].map(str::to_owned);
                Self { kind, value, elements: String::new() }
            }
            _ => Self::of_postgres("e.value"),
        }
    }

    fn passes(&self, sql: &mut SqlText, row: &Row, path: &[Box<str>], test: &Test) -> String {
        match test {
            Test::Exists => self.exists(),
            Test::Is(kind) => format!("COALESCE({}, {FALSE})", self.is(*kind)),
            Test::Compare(comparison, literal) => self.compare(sql, *comparison, literal),
            Test::StartsWith(_) => self.of_string(sql, test),
            Test::Includes(literal) => {
                let element = Self::element(sql.dialect.backend);
                let equal = element.compare(sql, Comparison::Equal, literal);
                let listed = format!("EXISTS (SELECT 1 FROM {} WHERE {equal})", self.elements);
                let listed = self.when(ValueKind::List, &listed);
                let Literal::String(name) = literal else { return listed };
                let path = path.iter().map(|name| &**name).chain([&**name]);
                let named = Self::at(sql, row, path).map(|json| json.exists());
                format!("({listed} OR {})", named.unwrap_or_else(never))
            }
        }
    }

    fn compare(&self, sql: &mut SqlText, comparison: Comparison, literal: &Literal) -> String {
        let backend = sql.dialect.backend;
        match literal {
            Literal::Null if comparison != Comparison::Less => self.when(ValueKind::Null, "TRUE"),
            Literal::Boolean(wanted) if comparison != Comparison::Less => {
                let held = if backend == DbBackend::Sqlite { &self.kind } else { &self.value };
                self.when(ValueKind::Boolean, &format!("{held} = '{wanted}'"))
            }
            Literal::Number(number) => {
                let held = self.double(backend);
                let holds = compares(sql, &held, comparison, number.get(), true);
                self.when(ValueKind::Number, &holds.unwrap_or_else(never))
            }
            Literal::String(_) => self.of_string(sql, &Test::Compare(comparison, literal.clone())),
            Literal::Null | Literal::Boolean(_) | Literal::Time(_) => never(),
        }
    }

    fn of_string(&self, sql: &mut SqlText, test: &Test) -> String {
        let string = format!("{}{}", self.value, sql.dialect.by_code_point);
        let holds = of_string(sql, &string, test);
        holds.map_or_else(never, |holds| self.when(ValueKind::String, &holds))
    }

    /// A number as a double, or as one that compares to every literal as it does.
    fn double(&self, backend: DbBackend) -> String {
        let Self { value, .. } = self;
        match backend {
            DbBackend::Sqlite => format!("CAST({value} AS REAL)"),
            _ => format!(
                "CASE WHEN abs({value}::numeric) <= {HALF_OF_SMALLEST} THEN 0 \
                 ELSE LEAST(GREATEST({value}::numeric, -{LARGEST}), {LARGEST})::float8 END"
            ),
        }
    }

    fn exists(&self) -> String {
        format!("({} IS NOT NULL)", self.kind)
    }

    /// `NULL` if the value is absent.
    fn is(&self, kind: ValueKind) -> String {
        let names = match kind {
            ValueKind::Null => "'null'",
            ValueKind::Boolean => "'boolean', 'true', 'false'",
            ValueKind::Number => "'number', 'integer', 'real'",
            ValueKind::String => "'string', 'text'",
            ValueKind::List => "'array'",
            ValueKind::Object => "'object'",
        };
        format!("{} IN ({names})", self.kind)
    }

    fn when(&self, kind: ValueKind, holds: &str) -> String {
        format!("CASE WHEN {} THEN {holds} ELSE {FALSE} END", self.is(kind))
    }
}

/// Looks into the index of the key for each row. A bare `EXISTS` would become a join on SQLite
/// (`json_member.rs`), and one without `OFFSET` a hash of all items on `PostgreSQL`.
fn related(sql: &mut SqlText, related: &Related, outer: &Row) -> Option<String> {
    let depth = outer.depth + 1;
    let [row, change] = ["r", "c"].map(|name| format!("{name}{depth}"));
    let inner = Row { depth, ..Row::of(&row, &format!("{change}.members")) };
    let link = link(sql, related, outer, &inner, &row)?;
    let holds = condition(sql, &related.holds, &inner);
    let latest = related.latest.as_ref().map(|filter| condition(sql, filter, &inner));
    let (wanted, filter, end) = match latest {
        Some(filter) => (holds, filter, format!("ORDER BY {row}.id DESC LIMIT 1")),
        None if sql.dialect.backend == DbBackend::Sqlite => ("1".to_owned(), holds, String::new()),
        None => ("1".to_owned(), holds, "OFFSET 0".to_owned()),
    };
    let is_joined = [&wanted, &filter, &link].iter().any(|part| part.contains(&inner.members));
    let joined = format!("{change}.sequence = {row}.sequence");
    let joins = [["JOIN", "changes", change.as_str(), joined.as_str()]];
    let joined = sql.dialect.joins(&joins[..usize::from(is_joined)]);
    let found = format!(
        "(SELECT {wanted} FROM items {row} {joined} WHERE {link} AND {row}.id <> {} AND {filter} {end})",
        outer.id
    );
    let exists = if related.latest.is_some() { "" } else { "EXISTS " };
    Some(format!("COALESCE({exists}{found}, {FALSE})"))
}

/// The condition on the collection and the key of related items; `None` if there are none.
fn link(
    sql: &mut SqlText,
    Related { collection, key, value, .. }: &Related,
    outer: &Row,
    inner: &Row,
    row: &str,
) -> Option<String> {
    let column = match key {
        RelatedKey::Id => Some("id"),
        RelatedKey::Parent => Some("parent"),
        RelatedKey::Member(name) if name.contains('\0') => return None,
        RelatedKey::Member(name) => indexed_columns::column(*collection, name),
    };
    let is_of_collection = sql.is_of(row, *collection, column.is_some());
    let is_linked = match key {
        RelatedKey::Id => equals_id(sql, &inner.id, value, outer)?,
        RelatedKey::Parent => equals_id(sql, &inner.parent, value, outer)?,
        RelatedKey::Member(name) => {
            let (string, is_short) = string(sql, value, outer)?;
            let mut is_whole = |members: &str| {
                let member = Member::of(sql, name, None);
                let [is_written, written] = [member.is_written(), member.as_written()]
                    .map(|part| part.replace("w.members", members));
                format!("{is_written} AND {written} = {string}")
            };
            match column {
                Some(column) if is_short => format!("{row}.{column} = {string}"),
                Some(column) => format!(
                    "{row}.{column} = substr({string}, 1, {LENGTH}) AND CASE WHEN length({string}) < {LENGTH} THEN TRUE ELSE \
                     (SELECT {is_whole} FROM changes {row}c WHERE {row}c.sequence = {row}.sequence) END",
                    is_whole = is_whole(&format!("{row}c.members")),
                ),
                None => is_whole(&inner.members),
            }
        }
    };
    Some(format!("{is_of_collection} AND {is_linked}"))
}

/// The condition that a column with ids equals a value, which need not be an id.
fn equals_id(sql: &mut SqlText, column: &str, value: &RelatedValue, outer: &Row) -> Option<String> {
    let id = match value {
        RelatedValue::String(id) => sql.bind(ItemId::parse(id)?.uuid()),
        RelatedValue::Operand(operand) => match current(operand)? {
            Subject::Id => outer.id.clone(),
            Subject::Parent => outer.parent.clone(),
            _ => {
                let (string, _) = string(sql, value, outer)?;
                let is_same = format!("{} = {string}", sql.dialect.text_of_id(column));
                let id = (sql.dialect.id_of_text)(&string);
                return Some(format!("{column} = {id} AND {is_same}"));
            }
        },
    };
    Some(format!("{column} = {id}"))
}

/// A value as a string or `NULL`, and whether it is shorter than a key; `None` if it never is one.
fn string(sql: &mut SqlText, value: &RelatedValue, outer: &Row) -> Option<(String, bool)> {
    let subject = match value {
        RelatedValue::String(string) if string.contains('\0') => return None,
        RelatedValue::String(string) => {
            return Some((sql.bind(&**string), indexed_columns::compares_to_keys(string)));
        }
        RelatedValue::Operand(operand) => current(operand)?,
    };
    Some(match subject {
        Subject::Id => (sql.dialect.text_of_id(&outer.id), true),
        Subject::Parent => (sql.dialect.text_of_id(&outer.parent), true),
        Subject::CreatedBy => (outer.created_by.clone(), false),
        Subject::CreatedAt => return None,
        Subject::Member(path) => {
            let json = Json::at(sql, outer, path.iter().map(|name| &**name))?;
            (format!("(CASE WHEN {} THEN {} END)", json.is(ValueKind::String), json.value), false)
        }
    })
}

#[cfg(test)]
mod tests;
