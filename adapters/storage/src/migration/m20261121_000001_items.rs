//! The tables every collection lives in.
//!
//! The schema builder of `sea-query` would make `SQLite` identifiers text and knows no partial
//! index, so the texts are written out; the engines differ in three types only.

use crate::sql::dialect::Dialect;

pub(super) fn statements(dialect: &Dialect) -> Vec<String> {
    vec![items(dialect), changes(dialect), collection_totals(dialect)]
}

/// An item may outlive the item it continues and its programme, so they are no foreign keys; reads
/// show what exists.
fn items(Dialect { uuid, json, .. }: &Dialect) -> String {
    format!(
        "CREATE TABLE items (
            id {uuid} NOT NULL PRIMARY KEY,
            collection TEXT NOT NULL,
            parent {uuid} NULL REFERENCES items (id),
            version BIGINT NOT NULL,
            created_at BIGINT NOT NULL,
            updated_at BIGINT NOT NULL,
            predecessor {uuid} NULL,
            program {uuid} NULL,
            members {json} NOT NULL
        );
        CREATE INDEX items_by_collection ON items (collection, id);
        CREATE INDEX items_by_parent ON items (parent, id) WHERE parent IS NOT NULL;
        CREATE INDEX items_by_predecessor ON items (predecessor) WHERE predecessor IS NOT NULL"
    )
}

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
            parent {uuid} NULL,
            predecessor {uuid} NULL,
            superseded {json} NULL
        );
        CREATE UNIQUE INDEX changes_by_item ON changes (item_id, version)"
    )
}

/// The parent of a whole collection is the nil UUID. The totals of a scope are the sums over its
/// shards.
fn collection_totals(Dialect { uuid, .. }: &Dialect) -> String {
    format!(
        "CREATE TABLE collection_totals (
            collection TEXT NOT NULL,
            parent {uuid} NOT NULL,
            shard INTEGER NOT NULL,
            items BIGINT NOT NULL,
            writes BIGINT NOT NULL,
            PRIMARY KEY (collection, parent, shard)
        );
        CREATE INDEX collection_totals_by_parent ON collection_totals (parent)"
    )
}
