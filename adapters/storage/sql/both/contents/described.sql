-- Lists the next versions, with the facts of those that may have content.
-- Parameters: $1, the change before them. Result: rows of change, collection, item, version and `_meta`.
SELECT c.sequence, c.collection, c.item_id, c.version,
    CASE WHEN CAST(c.members AS TEXT) LIKE '{"_meta":%' THEN CAST(c.members -> '_meta' AS TEXT) END AS meta
FROM changes c WHERE c.sequence > $1 ORDER BY c.sequence LIMIT 1000
