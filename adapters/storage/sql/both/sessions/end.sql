-- Deletes a session. Parameters: $1, the digest of its id. Result: the number of rows.
DELETE FROM sessions WHERE digest = $1
