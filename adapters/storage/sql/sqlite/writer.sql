-- The temporary tables of the connection that writes. They stay in memory.
-- The time of the last transaction, in microseconds.
CREATE TEMP TABLE clock (time INTEGER NOT NULL);
INSERT INTO clock VALUES (0);
-- The rows of a statement, as a JSON array of `WriteRow`.
CREATE TEMP TABLE batch (rows TEXT NOT NULL);
INSERT INTO batch VALUES ('[]');
CREATE TEMP VIEW given AS SELECT e.key AS place,
    unhex(e.value ->> 'id', '-') AS id, e.value ->> 'collection' AS collection,
    unhex(e.value ->> 'parent', '-') AS parent, e.value ->> 'parent_collection' AS parent_collection,
    unhex(e.value ->> 'continues', '-') AS continues, e.value ->> 'kind' AS kind, e.value ->> 'expected' AS expected,
    e.value ->> 'members' AS members, unhex(e.value ->> 'reference_0', '-') AS reference_0,
    e.value ->> 'reference_0_in' AS reference_0_in, e.value ->> 'key_1' AS key_1, e.value ->> 'key_2' AS key_2,
    e.value ->> 'key_3' AS key_3, e.value ->> 'key_4' AS key_4, e.value ->> 'key_5' AS key_5,
    e.value ->> 'caller' AS caller, e.value ->> 'acting' AS acting, e.value ->> 'client' AS client,
    e.value ->> 'request_id' AS request_id, e.value ->> 'reads_hold' AS reads_hold
FROM batch, json_each(batch.rows) e;
-- The rows with the change that each makes, or the number of the first condition that fails.
CREATE TEMP TABLE judged (
    place INTEGER PRIMARY KEY, id BLOB, collection TEXT, parent BLOB, continues BLOB, kind TEXT, members TEXT,
    reference_0 BLOB, reference_0_in TEXT, key_1 TEXT, key_2 TEXT, key_3 TEXT, key_4 TEXT, key_5 TEXT,
    caller TEXT, acting TEXT, client TEXT, request_id TEXT,
    version INTEGER, created_at INTEGER, created_by TEXT, has_same_keys INTEGER, refusal INTEGER
);
-- The items that a statement deletes.
CREATE TEMP TABLE removed (
    id BLOB PRIMARY KEY, collection TEXT, version INTEGER, parent BLOB, continues BLOB,
    caller TEXT, acting TEXT, client TEXT, request_id TEXT
);
