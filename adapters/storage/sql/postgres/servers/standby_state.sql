-- The state of a standby. The timeline is that of the last restart point, or of the least position that the files need: the
-- one that is followed, or an earlier one for a while after a failover, and never a later one.
-- Parameters: none. Result: `started` (when the server was), `is_standby`, `replayed` (a position in bytes, or null), `timeline`.
SELECT pg_postmaster_start_time()::text AS started, pg_is_in_recovery() AS is_standby, (pg_last_wal_replay_lsn() - '0/0')::bigint AS replayed,
    greatest((SELECT timeline_id FROM pg_control_checkpoint()),
        (SELECT min_recovery_end_timeline FROM pg_control_recovery()))::bigint AS timeline
