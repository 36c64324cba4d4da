-- The temporary tables of the connection that writes. They stay in memory.
-- The time of the last transaction, in microseconds.
CREATE TEMP TABLE clock (time INTEGER NOT NULL);
INSERT INTO clock VALUES (0);
-- The rows of the next statement; see `WriteRow` for their meaning. A row without an id is none.
CREATE TEMP TABLE given (
    place INTEGER PRIMARY KEY,
    id BLOB, collection TEXT, parent BLOB, parent_collection TEXT, continues BLOB, kind TEXT, expected INTEGER,
    members TEXT, reference_0 BLOB, reference_0_in TEXT, key_1 TEXT, key_2 TEXT, key_3 TEXT, key_4 TEXT, key_5 TEXT,
    caller TEXT, acting TEXT, client TEXT, request_id TEXT, reads_hold INTEGER
);
-- The rows with the change that each makes, or the number of the first condition that fails.
CREATE TEMP TABLE judged (
    place INTEGER PRIMARY KEY, id BLOB, collection TEXT, parent BLOB, continues BLOB, kind TEXT,
    reference_0 BLOB, reference_0_in TEXT, key_1 TEXT, key_2 TEXT, key_3 TEXT, key_4 TEXT, key_5 TEXT,
    caller TEXT, acting TEXT, client TEXT, request_id TEXT,
    version INTEGER, created_at INTEGER, created_by TEXT, has_same_keys INTEGER, refusal INTEGER
);
-- The items that a statement deletes.
CREATE TEMP TABLE removed (
    id BLOB PRIMARY KEY, collection TEXT, version INTEGER, parent BLOB, continues BLOB,
    caller TEXT, acting TEXT, client TEXT, request_id TEXT
);
