-- The next changes to index.
-- Parameters: $1, the change to begin after; $2, the last change; $3, the limit of rows.
-- Result: `sequence`, `number` (the sequence of the item's first change), `collection`, `id`, and the bytes of the members
-- after the change (`bytes`) and before it (`superseded`).
SELECT l.sequence, l.collection, l.item_id AS id, CAST(octet_length(CAST(l.members AS TEXT)) AS BIGINT) AS bytes,
    (SELECT f.sequence FROM changes f WHERE f.item_id = l.item_id AND f.version = 1) AS number,
    (SELECT CAST(octet_length(CAST(c.members AS TEXT)) AS BIGINT) FROM changes c
        WHERE c.item_id = l.item_id AND c.version = l.version - 1) AS superseded
FROM changes l WHERE l.sequence > $1 AND l.sequence <= $2 ORDER BY l.sequence LIMIT $3
