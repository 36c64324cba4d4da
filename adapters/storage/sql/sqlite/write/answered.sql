-- The answers to earlier requests with a key. Parameters: $1, the keys, a JSON array of arrays of caller, path and key.
-- Result: the stored answer, and the columns of `version.sql`.
SELECT k.caller AS asked_caller, k.path, k.key, k.expires_at, k.fingerprint, k.continues AS continues_link, k.continued_by,
    k.remarks, k.reference_0, c.sequence, c.collection, c.item_id, c.version, c.kind, c.time, c.caller, c.acting, c.client, c.request_id, c.removed_at,
    c.parent, c.continues, f.time AS created_at, f.caller AS created_by, i.version AS present,
    (SELECT MAX(l.version) FROM changes l WHERE l.item_id = c.item_id) AS latest, CAST(c.members AS TEXT) AS members
FROM json_each($1) a
CROSS JOIN idempotency_keys k ON k.caller = a.value ->> 0 AND k.path = a.value ->> 1 AND k.key = a.value ->> 2
CROSS JOIN changes c ON c.item_id = k.item_id AND c.version = k.version
CROSS JOIN changes f ON f.item_id = c.item_id AND f.version = 1
LEFT JOIN items i ON i.id = c.item_id
