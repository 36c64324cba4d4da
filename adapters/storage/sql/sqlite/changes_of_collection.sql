-- The changes of a collection after a number up to another.
-- Parameters: $1, the collection; $2 and $3, the numbers; $4, the limit of rows. Result: the columns of each change.
SELECT sequence, collection, item_id, version, kind, time, caller, acting, client, request_id, removed_at
FROM changes WHERE collection = $1 AND sequence > $2 AND sequence <= $3
ORDER BY collection, sequence LIMIT $4
