//! A made-up migration for tests of upgrades (feature `next-schema`): copies `updated_at` to a
//! column. Services do not write to it, so the contraction creates a trigger that does, before it
//! repeats the backfill for rows written meanwhile.

use sea_orm::DbBackend;

use super::schema_version::SCHEMA_VERSION;
use super::{BACKFILL, Backfill, CONTRACT, EXPAND, Index, Migration, Step};
use crate::sql::dialect::Dialect;

pub(super) const MIGRATION: Migration = Migration { name: "next_schema", steps };

const WRITTEN: Backfill = Backfill {
    set: "written_at = updated_at",
    stale: |dialect| match dialect.backend {
        DbBackend::Sqlite => "written_at IS NOT updated_at",
        _ => "written_at IS DISTINCT FROM updated_at",
    },
};

const INDEX: Index = Index { name: "items_by_creation", on: "items (collection, created_at)" };

const SQLITE_TRIGGERS: &str = "\
CREATE TRIGGER items_inserted AFTER INSERT ON items BEGIN UPDATE items SET written_at = updated_at WHERE id = NEW.id; END;
CREATE TRIGGER items_updated AFTER UPDATE OF updated_at ON items BEGIN UPDATE items SET written_at = updated_at WHERE id = NEW.id; END;
";

/// Its lock waits for the writes in progress.
const POSTGRES_TRIGGER: &str = "\
CREATE FUNCTION items_written() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.written_at = NEW.updated_at; RETURN NEW; END';
CREATE TRIGGER items_written BEFORE INSERT OR UPDATE ON items FOR EACH ROW EXECUTE FUNCTION items_written();
";

/// Makes a column `NOT NULL` without a table scan under a lock that blocks other sessions.
const NOT_NULL: [&str; 4] = [
    "ALTER TABLE items ADD CONSTRAINT items_written CHECK (written_at IS NOT NULL) NOT VALID",
    "ALTER TABLE items VALIDATE CONSTRAINT items_written",
    "ALTER TABLE items ALTER COLUMN written_at SET NOT NULL",
    "ALTER TABLE items DROP CONSTRAINT items_written",
];

fn steps(dialect: &Dialect) -> Vec<(&'static str, Step)> {
    let step = |statements: &str| Step::Transaction(statements.to_owned());
    let raise =
        |column: &str| step(&format!("UPDATE schema_version SET {column} = {SCHEMA_VERSION}"));
    let is_sqlite = dialect.backend == DbBackend::Sqlite;
    let triggers = if is_sqlite { SQLITE_TRIGGERS } else { POSTGRES_TRIGGER };
    let mut steps = vec![
        (EXPAND, step("ALTER TABLE items ADD COLUMN written_at BIGINT NULL")),
        (EXPAND, Step::Index(INDEX)),
        (EXPAND, raise("version")),
        (BACKFILL, Step::Backfill(WRITTEN)),
        (CONTRACT, raise("oldest_writer")),
        (CONTRACT, step(triggers)),
        (CONTRACT, Step::Backfill(WRITTEN)),
    ];
    if !is_sqlite {
        steps.extend(NOT_NULL.map(|statement| (CONTRACT, step(statement))));
    }
    steps
}
