-- Forgets a doomed name.
-- Parameters: $1, the name. Result: the number of rows.
DELETE FROM contents WHERE id = $1 AND state = 'doomed'
