-- Stores items of an import as their last changes leave them. Parameters: $1, the rows, a JSON array. Result: no rows.
INSERT INTO items SELECT * FROM json_populate_recordset(NULL::items, $1::json)
ON CONFLICT (id) DO UPDATE SET parent = excluded.parent, version = excluded.version, sequence = excluded.sequence,
    created_at = excluded.created_at, updated_at = excluded.updated_at, created_by = excluded.created_by,
    continues = excluded.continues, reference_0 = excluded.reference_0, key_1 = excluded.key_1, key_2 = excluded.key_2,
    key_3 = excluded.key_3, key_4 = excluded.key_4, key_5 = excluded.key_5
