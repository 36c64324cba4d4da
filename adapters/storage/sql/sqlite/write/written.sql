-- The outcome of the last insert, update or delete. Parameters: none.
-- Result: one row per row given: `asked` (its id), `refusal` (the number of the condition that fails), and the item if it was written.
SELECT j.id AS asked, j.refusal, i.id, i.version, i.created_at, i.updated_at, i.parent, i.continues,
    (SELECT n.id FROM items n WHERE n.id = i.continues) AS continues_link,
    (SELECT n.id FROM items n WHERE n.id = i.reference_0 AND n.collection = j.reference_0_in) AS reference_0,
    (SELECT group_concat(hex(n.id), ',' ORDER BY n.id) FROM items n WHERE n.continues = i.id) AS continued_by
FROM judged j LEFT JOIN items i ON i.id = j.id AND j.refusal IS NULL WHERE j.place IS NOT NULL
