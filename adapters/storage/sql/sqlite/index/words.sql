-- Deletes the words of items.
-- Parameters: $1, a JSON array of items: `number` (the sequence of the first change) and `words` (null for a deleted item).
-- Result: no rows.
DELETE FROM search_index WHERE rowid IN (SELECT value ->> 'number' FROM json_each($1) WHERE value ->> 'words' IS NULL)
