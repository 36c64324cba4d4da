-- Waits for the writes in progress. Parameters: none. Result: no rows.
BEGIN; LOCK TABLE write_fence IN SHARE MODE; COMMIT
