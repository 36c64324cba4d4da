-- Lists versions that may have content. Reads the change log in steps.
-- Parameters: $1, the change before them. Result: rows of change, collection, item, version and members.
SELECT c.sequence, c.collection, c.item_id, c.version, CAST(c.members AS TEXT) AS members FROM changes c
WHERE c.sequence > $1 AND CAST(c.members AS TEXT) LIKE '{"_meta":%' ORDER BY c.sequence LIMIT 1000
