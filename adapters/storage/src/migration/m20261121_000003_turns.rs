//! Writes take turns on both engines (`postgres/batch.rs`), so totals need no shards, and every
//! write has a time after all that were committed before it.

use sea_orm::DbBackend;

use crate::sql::dialect::Dialect;

/// Rows of a usual size stay as they are, larger ones are compressed in the way that costs least:
/// the default took a seventh of the database's time for a write. A server that was built without
/// it keeps the default.
const LIGHT_COMPRESSION: &str = "ALTER TABLE items SET (toast_tuple_target = 4096); ALTER TABLE changes SET (toast_tuple_target = 4096);
    DO $$ BEGIN
        EXECUTE 'ALTER TABLE items ALTER COLUMN members SET COMPRESSION lz4';
        EXECUTE 'ALTER TABLE changes ALTER COLUMN superseded SET COMPRESSION lz4';
    EXCEPTION WHEN feature_not_supported OR syntax_error THEN
        RAISE NOTICE 'lz4 is not available';
    END $$";

const CLOCK: &str = "CREATE SEQUENCE write_clock; SELECT setval('write_clock', greatest(1, (SELECT max(time) FROM changes)))";

pub(super) fn statements(Dialect { backend, uuid, .. }: &Dialect) -> Vec<String> {
    let of_postgres: &[_] =
        if *backend == DbBackend::Sqlite { &[] } else { &[CLOCK, LIGHT_COMPRESSION] };
    [&[totals(uuid)], &*of_postgres.iter().map(ToString::to_string).collect::<Vec<_>>()].concat()
}

/// Makes the totals anew without a column. `SQLite` cannot change a primary key.
fn totals(uuid: &str) -> String {
    format!(
        "ALTER TABLE collection_totals RENAME TO former_totals;
         DROP INDEX collection_totals_by_parent;
         CREATE TABLE collection_totals (
            collection TEXT NOT NULL,
            parent {uuid} NOT NULL,
            items BIGINT NOT NULL,
            writes BIGINT NOT NULL,
            PRIMARY KEY (collection, parent)
         );
         INSERT INTO collection_totals SELECT collection, parent, SUM(items), SUM(writes) FROM former_totals GROUP BY collection, parent;
         DROP TABLE former_totals;
         CREATE INDEX collection_totals_by_parent ON collection_totals (parent)"
    )
}
