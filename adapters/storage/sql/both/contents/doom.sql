-- Dooms arriving bytes.
-- Parameters: $1, the name. Result: the number of rows.
UPDATE contents SET state = 'doomed' WHERE id = $1 AND state = 'arriving'
