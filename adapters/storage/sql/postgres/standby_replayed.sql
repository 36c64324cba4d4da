-- The position that a standby has replayed. Parameters: none. Result: `replayed`, in bytes.
SELECT (pg_last_wal_replay_lsn() - '0/0')::bigint AS replayed
