-- Stores the words of items, or deletes them.
-- Parameters: $1, a JSON array of items: `id` and `words` (`{"0": [first, bytes]}`, the position of the words in $2, from 1, or null
-- for a deleted item), and $2, the words of all items as bytes, because parsing them as JSON takes longer. Result: no rows.
WITH given AS (
    SELECT id, convert_from(substring($2::bytea FROM (words -> '0' ->> 0)::integer FOR (words -> '0' ->> 1)::integer), 'UTF8')::tsvector AS words
    FROM json_to_recordset($1::json) AS g (id uuid, words json)
),
removed AS (DELETE FROM search_index s USING given g WHERE s.item_id = g.id AND g.words IS NULL)
INSERT INTO search_index AS s (item_id, words)
SELECT id, words FROM given WHERE words IS NOT NULL
ON CONFLICT (item_id) DO UPDATE SET words = excluded.words WHERE s.words <> excluded.words
