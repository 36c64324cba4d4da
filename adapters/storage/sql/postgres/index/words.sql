-- Stores the words of items, or deletes them.
-- Parameters: $1, a JSON array of `IndexedWords`; $2, the words of a single item. Result: no rows.
WITH given AS (SELECT * FROM json_to_recordset($1::json) AS g (id uuid, words text, is_deleted boolean)),
removed AS (DELETE FROM search_index s USING given g WHERE s.item_id = g.id AND g.is_deleted)
INSERT INTO search_index AS s (item_id, words)
SELECT id, coalesce(words, $2::text)::tsvector FROM given WHERE NOT is_deleted
ON CONFLICT (item_id) DO UPDATE SET words = excluded.words WHERE s.words <> excluded.words
