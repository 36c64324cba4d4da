-- Stores the words of items, or deletes them.
-- Parameters: $1, a JSON array of items: `id`, `number` (the sequence of the first change), `first` (the position of their words
-- in $2, from 1) and `bytes` (their length, null for a deleted item), and $2, the words of all items as bytes, because parsing them
-- as JSON takes longer. Result: no rows.
INSERT OR REPLACE INTO search_index (rowid, words)
SELECT value ->> 'number', CAST(substr($2, value ->> 'first', value ->> 'bytes') AS TEXT) FROM json_each($1)
WHERE value ->> 'bytes' IS NOT NULL;
DELETE FROM search_index WHERE rowid IN (SELECT value ->> 'number' FROM json_each($1) WHERE value ->> 'bytes' IS NULL)
