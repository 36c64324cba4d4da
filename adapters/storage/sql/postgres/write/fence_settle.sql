-- Begins a transaction that reads the state at a moment without a write in progress, and closes the current time and the
-- times of all changes: every later write has a later time. The fence is released before the reads.
-- Parameters: none. Result: `time`.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SAVEPOINT fence;
LOCK TABLE write_fence IN SHARE MODE;
WITH RECURSIVE names (name) AS (
    SELECT min(collection) FROM changes
    UNION ALL SELECT (SELECT min(c.collection) FROM changes c WHERE c.collection > n.name) FROM names n WHERE n.name IS NOT NULL
)
SELECT setval('write_clock', greatest(
    (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    last_value,
    (SELECT max((SELECT max(c.time) FROM changes c WHERE c.collection = n.name)) FROM names n)
)) AS time FROM write_clock;
ROLLBACK TO SAVEPOINT fence
