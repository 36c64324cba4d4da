-- Stores the words of items.
-- Parameters: $1, a JSON array of `IndexedWords`; an item without words was deleted.
INSERT OR REPLACE INTO search_index (rowid, words)
SELECT value ->> 'number', value ->> 'words' FROM json_each($1) WHERE value ->> 'words' IS NOT NULL;
DELETE FROM search_index
WHERE rowid IN (SELECT value ->> 'number' FROM json_each($1) WHERE value ->> 'words' IS NULL)
