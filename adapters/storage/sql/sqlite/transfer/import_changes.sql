-- Stores changes of an import. Parameters: $1, the rows, a JSON array. Result: no rows.
INSERT INTO changes
SELECT value ->> 'sequence', value ->> 'collection', unhex(value ->> 'item_id', '-'), value ->> 'version', value ->> 'kind',
    value ->> 'time', value ->> 'caller', value ->> 'acting', value ->> 'client', value ->> 'request_id',
    unhex(value ->> 'parent', '-'), unhex(value ->> 'continues', '-'), value ->> 'members', value ->> 'removed_at'
FROM json_each($1)
