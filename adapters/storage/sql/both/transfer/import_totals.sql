-- Counts every scope from the stored items and changes, including those of deleted parents.
-- Parameters: $1, the nil UUID. Result: no rows.
INSERT INTO totals (collection, parent, lane, items, writes)
SELECT c.collection, $1, 0, (SELECT COUNT(*) FROM items i WHERE i.collection = c.collection), COUNT(*)
FROM changes c GROUP BY c.collection
UNION ALL
SELECT c.collection, c.parent, 0,
    (SELECT COUNT(*) FROM items i WHERE i.parent = c.parent AND i.collection = c.collection), COUNT(*)
FROM changes c WHERE c.parent IS NOT NULL GROUP BY c.collection, c.parent
