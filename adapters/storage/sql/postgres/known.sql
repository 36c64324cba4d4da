-- Those of the items that were ever created. Parameters: $1, the items, a JSON array. Result: `item_id`.
SELECT c.item_id FROM changes c WHERE c.item_id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::uuid)) AND c.version = 1
