-- Lets new numbers and times continue after the imported ones. Parameters: none. Result: one row, which is not used.
SELECT setval(pg_get_serial_sequence('changes', 'sequence'), MAX(sequence)),
    setval('write_clock', greatest((SELECT last_value FROM write_clock), MAX(time)))
FROM changes HAVING COUNT(*) > 0
