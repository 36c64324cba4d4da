-- Removes bodies. That a later version exists makes sure that no item is at one of them.
-- Parameters: $1, the time; $2, the numbers of the changes, a JSON array. Result: the number of rows.
UPDATE changes SET members = NULL, removed_at = $1 WHERE sequence = ANY (ARRAY(SELECT json_array_elements_text($2::json)::bigint))
    AND members IS NOT NULL AND EXISTS (SELECT 1 FROM changes n WHERE n.item_id = changes.item_id AND n.version = changes.version + 1)
