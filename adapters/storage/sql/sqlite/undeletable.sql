-- Looks for an item below another that a caller must not delete.
-- Parameters: $1, the item; $2, the kinds of those below it, a JSON array of `Undeletable`. Result: `found`, one row or none.
SELECT 1 AS found FROM items w CROSS JOIN (
    SELECT value ->> 'collection' AS collection, value ->> 'is_own' AS is_own, value ->> 'caller' AS caller FROM json_each($2)
) u
WHERE w.parent = $1 AND w.collection || '' = u.collection AND ((w.created_by = u.caller) IS TRUE) = u.is_own LIMIT 1
