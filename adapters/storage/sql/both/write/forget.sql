-- Deletes expired idempotency keys.
-- Parameters: $1, the current time in microseconds; $2, the limit of rows. Result: the number of rows.
DELETE FROM idempotency_keys WHERE (caller, path, key) IN (
    SELECT caller, path, key FROM idempotency_keys WHERE expires_at <= $1 LIMIT $2
)
