-- The last changes of a collection, the newest first.
-- Parameters: $1, the collection; $2, the limit of rows. Result: the columns of each change.
SELECT sequence, collection, item_id, version, kind, time, caller, acting, client, request_id, removed_at
FROM changes WHERE collection = $1
ORDER BY collection DESC, sequence DESC LIMIT $2
