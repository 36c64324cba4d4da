-- Stores the answers of requests with an idempotency key. The second transaction to insert a key waits for the first.
-- Parameters: $1, the answers, a JSON array of `IdempotentAnswer`; $2, the current time in microseconds.
-- Result: `id`, the item of each answer stored; one whose key is taken is missing.
INSERT INTO idempotency_keys AS k (
    caller, path, key, fingerprint, expires_at, item_id, version, continues, continued_by, remarks, reference_0
)
SELECT caller, path, key, fingerprint, expires_at, item_id, version, continues, continued_by, remarks, reference_0
FROM json_to_recordset($1::json) AS g (
    caller text, path text, key text, fingerprint text, expires_at bigint, item_id uuid, version bigint, continues uuid,
    continued_by text, remarks text, reference_0 uuid
)
ORDER BY caller, path, key
ON CONFLICT (caller, path, key) DO UPDATE SET
    fingerprint = excluded.fingerprint, expires_at = excluded.expires_at, item_id = excluded.item_id,
    version = excluded.version, continues = excluded.continues, continued_by = excluded.continued_by,
    remarks = excluded.remarks, reference_0 = excluded.reference_0
WHERE k.expires_at <= $2::bigint
RETURNING item_id AS id
