-- Waits for the writes in progress. Only a transaction may lock: two statements in one message are one.
-- Parameters: none. Result: no rows.
LOCK TABLE write_fence IN SHARE MODE; SELECT WHERE FALSE
