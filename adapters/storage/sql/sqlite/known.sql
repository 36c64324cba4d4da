-- Those of the items that were ever created. Parameters: $1, the items, a JSON array. Result: `item_id`.
SELECT c.item_id FROM changes c WHERE c.item_id IN (SELECT unhex(value, '-') FROM json_each($1)) AND c.version = 1
