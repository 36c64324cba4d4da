-- The temporary tables and triggers of the connection that writes. They stay in memory. A trigger makes its statements one:
-- each statement of a message is answered separately. See `insert.sql`, `update.sql` and `delete.sql`.
-- The time of the last transaction, in microseconds.
CREATE TEMP TABLE clock (time INTEGER NOT NULL);
INSERT INTO clock VALUES (0);
-- The rows to write; see `RowParameters` for their meaning. A row without an id is none.
CREATE TEMP TABLE given (
    place INTEGER PRIMARY KEY,
    id BLOB, collection TEXT, parent BLOB, parent_collection TEXT, continues BLOB, kind TEXT, expected INTEGER,
    members TEXT, reference_0 BLOB, reference_0_in TEXT, key_1 TEXT, key_2 TEXT, key_3 TEXT, key_4 TEXT, key_5 TEXT,
    caller TEXT, acting TEXT, client TEXT, request_id TEXT, reads_hold INTEGER
);
-- The change that each row makes, or the number of the first condition that fails. Items that are deleted with
-- another one have no place.
CREATE TEMP TABLE judged (
    place INTEGER, id BLOB, collection TEXT, parent BLOB, continues BLOB, kind TEXT,
    reference_0 BLOB, reference_0_in TEXT, key_1 TEXT, key_2 TEXT, key_3 TEXT, key_4 TEXT, key_5 TEXT,
    caller TEXT, acting TEXT, client TEXT, request_id TEXT,
    version INTEGER, created_at INTEGER, created_by TEXT, has_same_keys INTEGER, refusal INTEGER
);
-- A view per step: an insert into a view runs all its triggers, each with its own registers.
CREATE TEMP VIEW insert_step AS SELECT NULL AS step;
CREATE TEMP VIEW update_step AS SELECT NULL AS step;
CREATE TEMP VIEW delete_step AS SELECT NULL AS step;
CREATE TEMP VIEW log_step AS SELECT NULL AS step;
CREATE TEMP TRIGGER log INSTEAD OF INSERT ON log_step BEGIN
    INSERT INTO changes (collection, item_id, version, kind, time, caller, acting, client, request_id, parent, continues, members)
    SELECT j.collection, j.id, j.version, j.kind, (SELECT time FROM clock), j.caller, j.acting, j.client, j.request_id, j.parent, j.continues,
        (SELECT g.members FROM given g WHERE g.place = j.place AND j.kind <> 'deleted')
    FROM judged j WHERE j.refusal IS NULL ORDER BY j.rowid;
    DELETE FROM given;
    INSERT INTO totals (collection, parent, lane, items, writes)
    SELECT collection, scope, 0, sum(CASE kind WHEN 'created' THEN 1 WHEN 'deleted' THEN -1 ELSE 0 END), count(*)
    FROM (
        SELECT collection, zeroblob(16) AS scope, kind FROM judged WHERE refusal IS NULL
        UNION ALL SELECT collection, parent, kind FROM judged WHERE refusal IS NULL AND parent IS NOT NULL
    )
    WHERE TRUE GROUP BY collection, scope
    ON CONFLICT (collection, parent, lane) DO UPDATE SET items = items + excluded.items, writes = writes + excluded.writes;
END;
