//! The statements over the table of callers. An empty name marks a caller who was erased.

use application::CallerNames;
use jiff::Timestamp;
use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{Expr, ExprTrait, OnConflict, Query};
use sea_orm::{
    ColumnTrait, DbErr, EntityTrait, Insert, QueryFilter, QueryResult, QueryTrait, Statement,
};

use crate::entities::caller::{ActiveModel, Column, Entity};
use crate::sql::dialect::Dialect;
use crate::sql::row_mapping;

/// The name of a caller who was erased.
const ERASED: &str = "";

/// Keeps the name of a caller, unless the caller was erased.
pub(crate) fn seen(dialect: &Dialect, id: &str, name: &str, time: Timestamp) -> Statement {
    let kept = OnConflict::column(Column::Id)
        .update_columns([Column::Name, Column::LastSeen])
        .action_and_where(Expr::col((Entity, Column::Name)).ne(ERASED))
        .to_owned();
    insert(id, name, time).on_conflict(kept).build(dialect.backend)
}

/// Erases the name of a caller. The first statement marks a caller who is not known, the second one
/// who is and had a name.
pub(crate) fn erase(dialect: &Dialect, id: &str, time: Timestamp) -> [Statement; 2] {
    let known = OnConflict::column(Column::Id).do_nothing().to_owned();
    let clear = Query::update()
        .table(Entity)
        .value(Column::Name, ERASED)
        .and_where(Column::Id.eq(id))
        .and_where(Column::Name.ne(ERASED))
        .to_owned();
    let mark = insert(id, ERASED, time).on_conflict(known);
    [mark.build(dialect.backend), dialect.backend.build(&clear)]
}

fn insert(id: &str, name: &str, time: Timestamp) -> Insert<ActiveModel> {
    let time = time.as_microsecond();
    Entity::insert(ActiveModel {
        id: Set(id.to_owned()),
        name: Set(name.to_owned()),
        first_seen: Set(time),
        last_seen: Set(time),
    })
}

/// Looks for the names of callers. There are few such statements, because as many are looked for as
/// the next power of two, the first of them several times.
pub(crate) fn names(dialect: &Dialect, ids: &[&str]) -> Statement {
    let sought = ids.iter().cycle().take(ids.len().next_power_of_two());
    Entity::find()
        .filter(Column::Id.is_in(sought.copied()))
        .filter(Column::Name.ne(ERASED))
        .build(dialect.backend)
}

/// The names that were found.
pub(crate) fn found(rows: &[QueryResult]) -> Result<CallerNames, DbErr> {
    let entry = |row: &QueryResult| {
        let (id, name): (String, String) =
            (row_mapping::get(row, "id")?, row_mapping::get(row, "name")?);
        Ok((id.into(), name.into()))
    };
    rows.iter().map(entry).collect()
}
