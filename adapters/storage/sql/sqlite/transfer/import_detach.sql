-- Detaches items from deleted ones that they belong to: they are deleted later in the import.
-- Parameters: $1, the deleted items, a JSON array. Result: no rows.
UPDATE items SET parent = NULL WHERE parent IN (SELECT unhex(value, '-') FROM json_each($1))
