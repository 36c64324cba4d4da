-- The item written last. Parameters: as those of `insert.sql`.
-- Result: `asked` (its id), `refusal` (null), and the item with its links.
SELECT i.id AS asked, NULL AS refusal, i.id, i.version, i.created_at, i.updated_at, i.parent, i.continues,
    (SELECT n.id FROM items n WHERE n.id = i.continues) AS continues_link,
    (SELECT n.id FROM items n WHERE n.id = i.reference_0 AND n.collection = :reference_0_in) AS reference_0,
    (SELECT group_concat(hex(n.id), ',') FROM (SELECT id FROM items WHERE continues = i.id ORDER BY id) n) AS continued_by
FROM items i WHERE i.id = :id
