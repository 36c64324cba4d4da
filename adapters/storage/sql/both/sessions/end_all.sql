-- Deletes the sessions of a caller. Parameters: $1, the caller. Result: the number of rows.
DELETE FROM sessions WHERE caller = $1
