-- The items of a collection that were added and removed.
-- Parameters: $1, the collection; $2, the change to begin after; $3, the last change. Result: as of `marks_set.sql`.
SELECT c.item_id AS id, c.sequence, CAST(CASE c.kind WHEN 'created' THEN 1 ELSE -1 END AS BIGINT) AS added,
    CAST(0 AS BIGINT) AS total
FROM changes c
WHERE c.collection = $1 AND c.sequence > $2 AND c.sequence <= $3 AND c.kind IN ('created', 'deleted')
