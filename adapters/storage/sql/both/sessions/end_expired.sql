-- Deletes the sessions that have ended. Parameters: $1, the current time. Result: the number of rows.
DELETE FROM sessions WHERE ends_at <= $1
