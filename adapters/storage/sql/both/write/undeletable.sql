-- Looks for an item below another that a caller must not delete.
-- Parameters: $1, the item; $2, the kinds of those below it, a JSON object of `Undeletable`. Result: its id, or no row.
SELECT w.id FROM items w CROSS JOIN json_each(json(CAST($2 AS TEXT))) u
WHERE w.parent = $1 AND w.collection || '' = u.value ->> 'collection'
    AND CASE WHEN w.created_by = u.value ->> 'caller' THEN 1 ELSE 0 END = CAST(u.value ->> 'is_own' AS INTEGER) LIMIT 1
