-- Detaches items from deleted ones that they belong to: they are deleted later in the import.
-- Parameters: $1, the deleted items, a JSON array. Result: no rows.
UPDATE items SET parent = NULL WHERE parent = ANY (ARRAY(SELECT json_array_elements_text($1::json)::uuid))
