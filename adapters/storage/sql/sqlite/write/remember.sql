-- Stores the answers of requests with an idempotency key.
-- Parameters: $1, the answers, a JSON array of `IdempotentAnswer`; $2, the current time in microseconds.
-- Result: `id`, the item of each answer stored; one whose key is taken is missing.
INSERT INTO idempotency_keys AS k (
    caller, path, key, fingerprint, expires_at, item_id, version, continues, continued_by, remarks, reference_0
)
SELECT value ->> 'caller', value ->> 'path', value ->> 'key', value ->> 'fingerprint', value ->> 'expires_at',
    unhex(value ->> 'item_id', '-'), value ->> 'version', unhex(value ->> 'continues', '-'), value ->> 'continued_by',
    value ->> 'remarks', unhex(value ->> 'reference_0', '-')
FROM json_each($1) WHERE TRUE
ON CONFLICT (caller, path, key) DO UPDATE SET
    fingerprint = excluded.fingerprint, expires_at = excluded.expires_at, item_id = excluded.item_id,
    version = excluded.version, continues = excluded.continues, continued_by = excluded.continued_by,
    remarks = excluded.remarks, reference_0 = excluded.reference_0
WHERE k.expires_at <= $2
RETURNING item_id AS id
