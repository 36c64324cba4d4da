-- Stores the words of items.
-- Parameters: $1, a JSON array of `IndexedWords`; an item without words was deleted.
WITH given AS (SELECT * FROM json_to_recordset($1::json) AS g (id uuid, words text)),
removed AS (DELETE FROM search_index s USING given g WHERE s.item_id = g.id AND g.words IS NULL)
INSERT INTO search_index AS s (item_id, words)
SELECT id, words::tsvector FROM given WHERE words IS NOT NULL
ON CONFLICT (item_id) DO UPDATE SET words = excluded.words WHERE s.words <> excluded.words
