-- The temporary tables of the connection that writes. They stay in memory.
-- The time of the last transaction, in microseconds.
CREATE TEMP TABLE clock (time INTEGER NOT NULL);
INSERT INTO clock VALUES (0);
-- The rows of a statement, each a JSON object. `json_each` renders its value whenever it is used, so it is stored first.
CREATE TEMP TABLE batch (place INTEGER PRIMARY KEY, row TEXT NOT NULL);
CREATE TEMP VIEW given AS SELECT place,
    unhex(row ->> 'id', '-') AS id, row ->> 'collection' AS collection, unhex(row ->> 'parent', '-') AS parent,
    row ->> 'parent_collection' AS parent_collection, unhex(row ->> 'continues', '-') AS continues,
    row ->> 'kind' AS kind, row ->> 'expected' AS expected, row ->> 'members' AS members,
    unhex(row ->> 'reference_0', '-') AS reference_0, row ->> 'reference_0_in' AS reference_0_in,
    row ->> 'key_1' AS key_1, row ->> 'key_2' AS key_2, row ->> 'key_3' AS key_3, row ->> 'key_4' AS key_4,
    row ->> 'key_5' AS key_5, row ->> 'caller' AS caller, row ->> 'acting' AS acting, row ->> 'client' AS client,
    row ->> 'request_id' AS request_id, row ->> 'reads_hold' AS reads_hold
FROM batch;
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
