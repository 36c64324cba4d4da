-- The next changes for an export.
-- Parameters: $1, the change to begin after; $2, the last change; $3, the limit of rows.
-- Result: the columns of each change, and `follows`, false if the version before it is missing.
SELECT c.sequence, c.collection, c.item_id, c.version, c.kind, c.time, c.caller, c.acting, c.client, c.request_id, c.removed_at,
    c.parent, c.continues, CAST(c.members AS TEXT) AS members,
    c.version = 1 OR EXISTS (SELECT 1 FROM changes p WHERE p.item_id = c.item_id AND p.version = c.version - 1) AS follows
FROM changes c WHERE c.sequence > $1 AND c.sequence <= $2 ORDER BY c.sequence LIMIT $3
