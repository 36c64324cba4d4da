-- The versions of an item, the newest first.
-- Parameters: $1, the item; $2, its collection; $3, its parent, or null; $4, the newest version; $5, the limit of rows.
-- Result: the columns of each change.
SELECT sequence, collection, item_id, version, kind, time, caller, acting, client, request_id, removed_at
FROM changes WHERE item_id = $1 AND collection = $2 AND (parent = $3 OR $3 IS NULL) AND version <= $4
ORDER BY version DESC LIMIT $5
