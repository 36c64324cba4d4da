-- Removes all sessions from a copy, in which one that is left later would return. Parameters: none. Result: no rows.
DELETE FROM sessions
