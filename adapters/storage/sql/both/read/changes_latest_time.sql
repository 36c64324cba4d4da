-- The latest time of a change. It is that of the last one only on SQLite, and not of one that was imported. The index has
-- the times by collection. Parameters: none. Result: `time`, null before the first change.
WITH RECURSIVE names (name) AS (
    SELECT MIN(collection) FROM changes
    UNION ALL SELECT (SELECT MIN(c.collection) FROM changes c WHERE c.collection > n.name) FROM names n WHERE n.name IS NOT NULL
)
SELECT MAX((SELECT MAX(c.time) FROM changes c WHERE c.collection = n.name)) AS time FROM names n
