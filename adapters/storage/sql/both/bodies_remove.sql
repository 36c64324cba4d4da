-- Removes bodies. That a later version exists makes sure that no item is at one of them.
-- Parameters: $1, the time; $2, a JSON object with the numbers of the changes as keys. Result: the number of rows.
UPDATE changes SET members = NULL, removed_at = $1
WHERE sequence IN (SELECT CAST(key AS BIGINT) FROM json_each(json(CAST($2 AS TEXT)))) AND members IS NOT NULL
    AND EXISTS (SELECT 1 FROM changes n WHERE n.item_id = changes.item_id AND n.version = changes.version + 1)
