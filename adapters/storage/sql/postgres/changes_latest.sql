-- The last changes of a collection, the newest first. Rows are compared for the same reason as in `changes_of_collection.sql`.
-- Parameters: $1, the collection; $2, the limit of rows. Result: the columns of each change.
SELECT sequence, collection, item_id, version, kind, time, caller, acting, client, request_id, removed_at
FROM changes WHERE (collection, sequence) > ($1, 0) AND (collection, sequence) <= ($1, 9223372036854775807)
ORDER BY collection DESC, sequence DESC LIMIT $2
