-- The answers to earlier requests with a key. `OFFSET 0` keeps the order of the joins: a look into an index for each key.
-- Parameters: $1, the keys, a JSON array of arrays of caller, path and key.
-- Result: the stored answer, and the columns of `version.sql`.
SELECT k.caller AS asked_caller, k.path, k.key, k.expires_at, k.fingerprint, k.continues AS continues_link, k.continued_by,
    k.remarks, k.reference_0, c.sequence, c.collection, c.item_id, c.version, c.kind, c.time, c.caller, c.acting, c.client, c.request_id, c.removed_at,
    c.parent, c.continues, f.time AS created_at, f.caller AS created_by, i.version AS present,
    (SELECT MAX(l.version) FROM changes l WHERE l.item_id = c.item_id) AS latest, CAST(c.members AS TEXT) AS members
FROM json_array_elements($1::json) a (key)
JOIN LATERAL (SELECT * FROM idempotency_keys k WHERE k.caller = a.key ->> 0 AND k.path = a.key ->> 1 AND k.key = a.key ->> 2 OFFSET 0) k ON TRUE
JOIN LATERAL (SELECT * FROM changes c WHERE c.item_id = k.item_id AND c.version = k.version OFFSET 0) c ON TRUE
JOIN LATERAL (SELECT * FROM changes f WHERE f.item_id = c.item_id AND f.version = 1 OFFSET 0) f ON TRUE
LEFT JOIN LATERAL (SELECT * FROM items i WHERE i.id = c.item_id OFFSET 0) i ON TRUE
