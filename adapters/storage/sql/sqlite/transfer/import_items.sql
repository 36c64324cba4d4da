-- Stores items of an import as their last changes leave them. Parameters: $1, the rows, a JSON array. Result: no rows.
INSERT OR REPLACE INTO items (
    id, collection, parent, version, sequence, created_at, updated_at, created_by, continues, reference_0,
    key_1, key_2, key_3, key_4, key_5
)
SELECT unhex(value ->> 'id', '-'), value ->> 'collection', unhex(value ->> 'parent', '-'), value ->> 'version',
    value ->> 'sequence', value ->> 'created_at', value ->> 'updated_at', value ->> 'created_by',
    unhex(value ->> 'continues', '-'), unhex(value ->> 'reference_0', '-'),
    value ->> 'key_1', value ->> 'key_2', value ->> 'key_3', value ->> 'key_4', value ->> 'key_5'
FROM json_each($1)
