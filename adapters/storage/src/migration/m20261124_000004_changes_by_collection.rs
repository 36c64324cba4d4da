//! The changes of a collection have an index, so that who follows one that is seldom written does
//! not look through the changes of all others. Older services keep it without knowing of it.

use sea_orm::DbBackend;

use super::stages::{Index, Stages, Step};
use crate::sql::dialect::Dialect;

const NAME: &str = "changes_by_collection";

pub(super) fn stages(dialect: &Dialect) -> Stages {
    // An index of `SQLite` has the number of the row in any case.
    let is_sqlite = dialect.backend == DbBackend::Sqlite;
    let on = if is_sqlite { "changes (collection)" } else { "changes (collection, sequence)" };
    let raise = "UPDATE schema_version SET version = 4".to_owned();
    Stages {
        expand: vec![Step::Index(Index { name: NAME, on }), Step::Transaction(vec![raise])],
        backfill: None,
        contract: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use application::Sequence;
    use domain::Collection;
    use rusqlite::Connection;

    use super::super::statements_of_all;
    use crate::sql::change_log;
    use crate::sql::dialect::SQLITE;

    #[test]
    fn the_changes_of_a_collection_are_found_by_the_index_in_their_order() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(&statements_of_all(&SQLITE).join(";")).unwrap();
        let files = Collection::known("files");
        let between = change_log::of_collection(&SQLITE, files, Sequence(5), Sequence(9), 25).sql;
        let latest = change_log::latest_statement(&SQLITE, files, 25).sql;
        for (statement, expected) in
            [(between, "(collection=? AND rowid>? AND rowid<?)"), (latest, "(collection=?)")]
        {
            let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).unwrap();
            let count = plan.parameter_count();
            let parameters = rusqlite::params_from_iter((0..count).map(|_| 1_i64));
            let steps = plan.query_map(parameters, |row| row.get::<_, String>("detail")).unwrap();
            let steps: Vec<_> = steps.map(Result::unwrap).collect();
            let [step] = steps.as_slice() else { panic!("{steps:?}") };
            assert!(step.contains(&format!("changes_by_collection {expected}")), "{step}");
        }
    }
}
