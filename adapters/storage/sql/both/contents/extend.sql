-- Extends the lease of arriving bytes.
-- Parameters: $1, the name; $2, the new end; $3, the key that removes the bytes, or NULL. Result: the number of rows.
UPDATE contents SET lease_until = $2, place = $3 WHERE id = $1 AND state = 'arriving'
