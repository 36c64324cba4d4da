-- The last of the next items of a backfill.
-- Parameters: $1, the item to begin after; $2, the number of items less one. Result: `id`, no row if there are fewer.
SELECT id FROM items WHERE id > $1 ORDER BY id LIMIT 1 OFFSET $2
