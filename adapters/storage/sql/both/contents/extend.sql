-- Extends the lease of arriving bytes.
-- Parameters: $1, the name; $2, the new end. Result: the number of rows.
UPDATE contents SET lease_until = $2 WHERE id = $1 AND state = 'arriving'
