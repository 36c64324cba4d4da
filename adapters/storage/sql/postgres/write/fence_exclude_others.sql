-- Excludes all other writes until the transaction ends, and closes its time, which is later than the time of every change.
-- Parameters: none. Result: `time`.
LOCK TABLE write_fence IN EXCLUSIVE MODE;
SELECT set_config('proposal_service.time', time::text, true), time FROM (
    WITH RECURSIVE names (name) AS (
        SELECT min(collection) FROM changes
        UNION ALL
        SELECT (SELECT min(c.collection) FROM changes c WHERE c.collection > n.name) FROM names n WHERE n.name IS NOT NULL
    )
    SELECT setval('write_clock', greatest(
        (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
        last_value + 1,
        (SELECT max((SELECT max(c.time) FROM changes c WHERE c.collection = n.name)) FROM names n) + 1
    )) AS time FROM write_clock
) AS clock
