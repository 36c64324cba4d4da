-- Stores changes of an import. Parameters: $1, the rows, a JSON array; their members are strings. Result: no rows.
INSERT INTO changes (
    sequence, collection, item_id, version, kind, time, caller, acting, client, request_id, parent, continues, members, removed_at
)
SELECT sequence, collection, item_id, version, kind, time, caller, acting, client, request_id, parent, continues,
    (members #>> '{}')::json, removed_at
FROM json_populate_recordset(NULL::changes, $1::json)
