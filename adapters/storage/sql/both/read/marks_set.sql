-- Sets marks among the items of a collection, with the items added and removed since a change, in one snapshot. Rows are
-- compared, so that no other index has the order. There is a mark for every 1,000 items (`DISTANCE`).
-- Parameters: $1, the collection; $2, the item to begin at; $3, the nil UUID; $4, the change.
-- Result: `id`, `sequence` and `added` (0 for a mark), `total` (the items of the collection).
WITH RECURSIVE m (id) AS (
    SELECT CASE f.collection WHEN $1 THEN f.id END FROM (
        SELECT i.collection, i.id FROM items i WHERE (i.collection, i.id) >= ($1, $2) ORDER BY i.collection, i.id LIMIT 1
    ) f
    UNION ALL
    SELECT (
        SELECT CASE i.collection WHEN $1 THEN i.id END FROM items i WHERE (i.collection, i.id) > ($1, m.id)
        ORDER BY i.collection, i.id LIMIT 1 OFFSET 999
    ) FROM m WHERE m.id IS NOT NULL
),
t AS (SELECT CAST(COALESCE(SUM(items), 0) AS BIGINT) AS total FROM totals WHERE collection = $1 AND parent = $3)
SELECT m.id, CAST(0 AS BIGINT) AS sequence, CAST(0 AS BIGINT) AS added, t.total FROM m, t WHERE m.id IS NOT NULL
UNION ALL
SELECT c.item_id, c.sequence, CAST(CASE c.kind WHEN 'created' THEN 1 ELSE -1 END AS BIGINT), t.total FROM changes c, t
WHERE c.collection = $1 AND c.sequence > $4 AND c.kind IN ('created', 'deleted')
