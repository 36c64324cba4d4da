-- Stores the words of items, or deletes them.
-- Parameters: $1, a JSON array of items: `id`, `number` (the sequence of the first change), `first` (the position of their words
-- in $2, from 1) and `bytes` (their length, null for a deleted item), and $2, the words of all items as bytes, because parsing them
-- as JSON takes longer. Result: no rows.
WITH given AS (
    SELECT id, convert_from(substring($2::bytea FROM first FOR bytes), 'UTF8')::tsvector AS words
    FROM json_to_recordset($1::json) AS g (id uuid, first integer, bytes integer)
),
removed AS (DELETE FROM search_index s USING given g WHERE s.item_id = g.id AND g.words IS NULL)
INSERT INTO search_index AS s (item_id, words)
SELECT id, words FROM given WHERE words IS NOT NULL
ON CONFLICT (item_id) DO UPDATE SET words = excluded.words WHERE s.words <> excluded.words
