-- The number of writes to a collection. Parameters: $1, the collection; $2, the nil UUID. Result: `revision`.
SELECT CAST(COALESCE(SUM(writes), 0) AS BIGINT) AS revision FROM totals WHERE collection = $1 AND parent = $2
