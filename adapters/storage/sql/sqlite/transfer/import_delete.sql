-- Deletes items of an import. Parameters: $1, the items, a JSON array. Result: no rows.
DELETE FROM items WHERE id IN (SELECT unhex(value, '-') FROM json_each($1))
