-- The number of items, by the counts that every write keeps. Parameters: none. Result: `items`.
SELECT CAST(COALESCE(SUM(items), 0) AS BIGINT) AS items FROM totals t
WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.id = t.parent)
