-- A position behind the commits that were acknowledged: they are flushed, unless the database acknowledges before. A standby
-- would have what is only inserted later.
-- Parameters: none. Result: `timeline`; `position`, in bytes.
SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint AS timeline,
    (CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn()
    ELSE pg_current_wal_flush_lsn() END - '0/0')::bigint AS position
