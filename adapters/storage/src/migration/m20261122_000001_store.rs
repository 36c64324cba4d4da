//! The tables of the store.
//!
//! `changes` is append-only and holds each version's members once; a row of `items` is narrow and
//! points to the change that an item is at. The schema builder of `sea-query` knows no partial
//! index, no table without a row id and no full-text index, so the statements are written out; the
//! engines differ in what a [`Dialect`] names and in what only one of them has.

use sea_orm::DbBackend;

use crate::sql::dialect::Dialect;

/// The version of the schema that these tables are.
const SCHEMA_VERSION: i32 = 2;

/// The columns of references and of indexed members at the time of this migration. Each later
/// column has its own migration.
const REFERENCES: [&str; 1] = ["reference_0"];
const INDEXED: [&str; 5] =
    ["program_id", "research_type", "researcher_id", "start_date", "subject"];

pub(super) fn statements(dialect: &Dialect) -> Vec<String> {
    let own = if dialect.backend == DbBackend::Sqlite { SQLITE } else { POSTGRES };
    let tables = [
        changes(dialect),
        items(dialect),
        totals(dialect),
        idempotency_keys(dialect),
        rest(dialect),
    ];
    tables.into_iter().chain(own.iter().map(ToString::to_string)).collect()
}

/// A string for each of the columns, one after the other.
fn each(columns: &[&str], text: impl Fn(&str) -> String) -> String {
    columns.iter().map(|name| text(name)).collect()
}

/// The members are absent where a change is a removal. `caller` did it, `acting` on the caller's
/// behalf, through `client`.
fn changes(Dialect { uuid, json, sequence, .. }: &Dialect) -> String {
    format!(
        "CREATE TABLE changes (
            sequence {sequence},
            collection TEXT NOT NULL,
            item_id {uuid} NOT NULL,
            version BIGINT NOT NULL,
            kind TEXT NOT NULL,
            time BIGINT NOT NULL,
            caller TEXT NULL,
            acting TEXT NULL,
            client TEXT NULL,
            request_id TEXT NULL,
            parent {uuid} NULL,
            continues {uuid} NULL,
            members {json} NULL
        );
        CREATE UNIQUE INDEX changes_by_item ON changes (item_id, version);
        CREATE INDEX changes_by_time ON changes (collection, time, item_id);
        CREATE INDEX changes_by_removal ON changes (collection, item_id) WHERE kind = 'deleted'"
    )
}

/// An item may outlive the item it continues and those it refers to, so they are no foreign keys;
/// reads show what exists. Nothing that every write changes is indexed: a replacement that keeps
/// the indexed members writes to no index.
fn items(Dialect { uuid, key, without_rowid, .. }: &Dialect) -> String {
    let references = each(&REFERENCES, |name| format!(",\n            {name} {uuid} NULL"));
    let columns = each(&INDEXED, |name| format!(",\n            {name} {key} NULL"));
    let indexes = each(&INDEXED, |name| {
        format!(";\n CREATE INDEX items_by_{name} ON items ({name}, id) WHERE {name} IS NOT NULL")
    });
    format!(
        "CREATE TABLE items (
            id {uuid} NOT NULL PRIMARY KEY,
            collection TEXT NOT NULL,
            parent {uuid} NULL REFERENCES items (id),
            version BIGINT NOT NULL,
            sequence BIGINT NOT NULL,
            created_at BIGINT NOT NULL,
            updated_at BIGINT NOT NULL,
            created_by TEXT NULL,
            continues {uuid} NULL{references}{columns}
        ){without_rowid};
        CREATE INDEX items_by_collection ON items (collection, id);
        CREATE INDEX items_by_parent ON items (parent, id) WHERE parent IS NOT NULL;
        CREATE INDEX items_by_continues ON items (continues) WHERE continues IS NOT NULL{indexes}"
    )
}

/// The parent of a whole collection is the nil UUID. The totals of a scope are the sums over its
/// lanes, so that writers side by side need not write to the same row.
fn totals(Dialect { uuid, without_rowid, .. }: &Dialect) -> String {
    format!(
        "CREATE TABLE totals (
            collection TEXT NOT NULL,
            parent {uuid} NOT NULL,
            lane INTEGER NOT NULL,
            items BIGINT NOT NULL,
            writes BIGINT NOT NULL,
            PRIMARY KEY (collection, parent, lane)
        ){without_rowid}"
    )
}

/// An answer is the version that was written, and the links and remarks it was shown with; the rest
/// is in the change log.
fn idempotency_keys(Dialect { uuid, without_rowid, .. }: &Dialect) -> String {
    let references = each(&REFERENCES, |name| format!("{name} {uuid} NULL,\n            "));
    format!(
        "CREATE TABLE idempotency_keys (
            caller TEXT NOT NULL,
            path TEXT NOT NULL,
            key TEXT NOT NULL,
            fingerprint TEXT NOT NULL,
            expires_at BIGINT NOT NULL,
            item_id {uuid} NOT NULL,
            version BIGINT NOT NULL,
            continues {uuid} NULL,
            continued_by TEXT NOT NULL,
            remarks TEXT NOT NULL,
            {references}PRIMARY KEY (caller, path, key)
        ){without_rowid};
        CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at)"
    )
}

/// The display names of callers are not in the log, because names change and can be erased. The
/// counts describe the items as of the change that `search_progress` names. Each database has its
/// own history id.
fn rest(dialect: &Dialect) -> String {
    let Dialect { key, without_rowid, .. } = dialect;
    let id = if dialect.backend == DbBackend::Sqlite {
        "lower(hex(randomblob(4)))"
    } else {
        "left(gen_random_uuid()::text, 8)"
    };
    format!(
        "CREATE TABLE callers (
            id TEXT NOT NULL PRIMARY KEY,
            name TEXT NOT NULL,
            first_seen BIGINT NOT NULL,
            last_seen BIGINT NOT NULL
        );
        CREATE TABLE value_counts (
            collection TEXT NOT NULL,
            member TEXT NOT NULL,
            value {key} NOT NULL,
            items BIGINT NOT NULL,
            PRIMARY KEY (collection, member, value)
        ){without_rowid};
        CREATE TABLE search_progress (sequence BIGINT NOT NULL);
        INSERT INTO search_progress VALUES (0);
        CREATE TABLE history (id TEXT NOT NULL);
        INSERT INTO history VALUES ({id});
        CREATE TABLE schema_version (version INTEGER NOT NULL, oldest_reader INTEGER NOT NULL, oldest_writer INTEGER NOT NULL);
        INSERT INTO schema_version VALUES ({SCHEMA_VERSION}, {SCHEMA_VERSION}, {SCHEMA_VERSION})"
    )
}

/// The words come folded and apart, so the tokenizer takes everything but a space for a letter. An
/// item has the number of its first change in the index, which is never reused. The beginnings of
/// words, of two and three characters, are indexed as well. Segments are merged less often than by
/// default, which costs a quarter less.
const SQLITE: &[&str] = &[
    "CREATE VIRTUAL TABLE search_index USING fts5(words, content = '', contentless_delete = 1, prefix = '2 3', \
     tokenize = \"unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'\")",
    "INSERT INTO search_index (search_index, rank) VALUES ('automerge', 8)",
    "CREATE VIRTUAL TABLE search_words USING fts5vocab(search_index, instance)",
];

/// Words are collected, 16 MB of them, before they are sorted into their index; vectors and members
/// of a usual size are not compressed, larger members in the way that costs least: the default took
/// a seventh of the database's time for a write. A server that was built without it keeps the
/// default. A page of `items` keeps room, so that an update stays on it and leaves the indexes
/// alone.
const POSTGRES: &[&str] = &[
    "CREATE TABLE search_index (item_id uuid NOT NULL PRIMARY KEY, words tsvector NOT NULL)",
    "ALTER TABLE search_index SET (toast_tuple_target = 8160)",
    "CREATE INDEX search_index_by_words ON search_index USING gin (words) WITH (gin_pending_list_limit = 16384)",
    "CREATE SEQUENCE write_clock",
    "CREATE TABLE write_fence ()",
    "ALTER TABLE items SET (fillfactor = 80)",
    "ALTER TABLE totals SET (fillfactor = 50)",
    "ALTER TABLE changes SET (toast_tuple_target = 4096)",
    "DO $$ BEGIN
        EXECUTE 'ALTER TABLE changes ALTER COLUMN members SET COMPRESSION lz4';
    EXCEPTION WHEN feature_not_supported OR syntax_error THEN
        RAISE NOTICE 'lz4 is not available';
    END $$",
];
