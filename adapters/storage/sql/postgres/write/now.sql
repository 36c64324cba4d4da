-- The time of the database. Parameters: none. Result: `now`, in microseconds.
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
