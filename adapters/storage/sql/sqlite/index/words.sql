-- Stores the words of items, or deletes them.
-- Parameters: $1, a JSON array of `IndexedWords`; $2, the words of a single item. Result: no rows.
INSERT OR REPLACE INTO search_index (rowid, words)
SELECT value ->> 'number', coalesce(value ->> 'words', $2) FROM json_each($1) WHERE NOT value ->> 'is_deleted';
DELETE FROM search_index
WHERE rowid IN (SELECT value ->> 'number' FROM json_each($1) WHERE value ->> 'is_deleted')
