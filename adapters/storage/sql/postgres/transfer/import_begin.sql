-- Prepares an import. The plans find items by their identifiers only, even while the tables are small.
-- Parameters: none. Result: no rows.
SET LOCAL lock_timeout = '10s'; SET LOCAL idle_in_transaction_session_timeout = 0;
LOCK TABLE write_fence IN EXCLUSIVE MODE;
SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off
