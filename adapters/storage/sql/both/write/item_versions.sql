-- The items of a collection. Parameters: $1, the collection. Result: `id`, `version`.
SELECT id, version FROM items WHERE collection = $1
