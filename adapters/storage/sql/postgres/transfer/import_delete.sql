-- Deletes items of an import. Parameters: $1, the items, a JSON array. Result: no rows.
DELETE FROM items WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::uuid))
