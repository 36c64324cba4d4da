-- The servers that follow this one. Only roles that may read all statistics see their lag.
-- Parameters: none. Result: `replicas`, how many; `lag`, the longest in microseconds.
SELECT count(*) AS replicas, coalesce(ceil(extract(epoch FROM max(replay_lag)) * 1000000), 0)::bigint AS lag
FROM pg_stat_replication WHERE state = 'streaming'
