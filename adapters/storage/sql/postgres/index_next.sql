-- The next changes to index. `OFFSET 0` keeps a plan that was made on empty tables from reading an index from end to end.
-- Parameters: $1, the number of the change to begin after; $2, that of the last change; $3, the limit of rows.
-- Result: `sequence`, `number` (the sequence of the item's first change), `collection`, `id`, and the sizes of the members
-- in bytes after the change (`bytes`) and before it (`superseded`).
SELECT l.sequence, f.sequence AS number, l.collection, l.item_id AS id, CAST(l.bytes AS BIGINT) AS bytes,
    CAST((
        SELECT octet_length(c.members::text) FROM changes c WHERE c.item_id = l.item_id AND c.version = l.version - 1
    ) AS BIGINT) AS superseded
FROM (
    SELECT c.sequence, c.collection, c.item_id, c.version, octet_length(c.members::text) AS bytes FROM changes c
    WHERE c.sequence > $1 AND c.sequence <= $2 ORDER BY c.sequence LIMIT $3
) l
JOIN LATERAL (SELECT f.sequence FROM changes f WHERE f.item_id = l.item_id AND f.version = 1 OFFSET 0) f ON TRUE
ORDER BY l.sequence
