-- A version of an item.
-- Parameters: $1, the item; $2, its collection; $3, its parent, or null; $4, the version, or null; $5, the time at which it was at the version.
-- Result: the columns of the change, `created_at`, `created_by`, `present` (null if the item does not exist now), `latest`, `members`.
SELECT c.sequence, c.collection, c.item_id, c.version, c.kind, c.time, c.caller, c.acting, c.client, c.request_id, c.removed_at,
    c.parent, c.continues, f.time AS created_at, f.caller AS created_by, i.version AS present,
    (SELECT MAX(l.version) FROM changes l WHERE l.item_id = c.item_id) AS latest, CAST(c.members AS TEXT) AS members
FROM changes c
JOIN changes f ON f.item_id = c.item_id AND f.version = 1
LEFT JOIN items i ON i.id = c.item_id
WHERE c.item_id = $1 AND c.collection = $2 AND (c.parent = $3 OR $3 IS NULL)
    AND c.version = COALESCE($4, (SELECT MAX(t.version) FROM changes t WHERE t.item_id = $1 AND t.time <= $5))
