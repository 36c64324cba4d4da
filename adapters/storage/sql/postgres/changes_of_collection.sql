-- The changes of a collection after a number up to another.
-- Rows are compared, so that no other index has the order: it would lead through all changes to those of a rare collection.
-- Parameters: $1, the collection; $2 and $3, the numbers; $4, the limit of rows. Result: the columns of each change.
SELECT sequence, collection, item_id, version, kind, time, caller, acting, client, request_id, removed_at
FROM changes WHERE (collection, sequence) > ($1, $2) AND (collection, sequence) <= ($1, $3)
ORDER BY collection, sequence LIMIT $4
