-- Replaces the members of an item. Parameters: as `insert.sql`. Result: as `insert.sql`.
SELECT g.id, CASE
    WHEN (g.reads_hold) IS NOT TRUE THEN 1
    WHEN (i.collection = g.collection AND (g.parent IS NULL OR i.parent = g.parent)) IS NOT TRUE THEN 6
    WHEN (i.version = g.expected) IS NOT TRUE THEN 7
END AS refusal, i.collection, i.parent, i.continues, i.version + 1 AS version, i.created_at, i.created_by, :time AS updated_at,
    (SELECT n.id FROM items n WHERE n.id = i.continues) AS continues_link,
    (SELECT n.id FROM items n WHERE n.id = :reference_0 AND n.collection = :reference_0_in) AS reference_0,
    (SELECT group_concat(hex(id), ',') FROM (SELECT e.id FROM items e WHERE e.continues = i.id ORDER BY e.id)) AS continued_by
FROM (SELECT :id AS id, :collection AS collection, :parent AS parent, :expected AS expected, :reads_hold AS reads_hold) g
LEFT JOIN items i ON i.id = g.id;
INSERT INTO changes (collection, item_id, version, kind, time, caller, acting, client, request_id, parent, continues, members)
SELECT collection, id, version + 1, :kind, :time, :caller, :acting, :client, :request_id, parent, continues, :members
FROM items WHERE id = :id;
-- An index is written only if its column is assigned.
UPDATE items SET key_1 = :key_1, key_2 = :key_2, key_3 = :key_3, key_4 = :key_4, key_5 = :key_5
WHERE id = :id AND (key_1, key_2, key_3, key_4, key_5) IS NOT (:key_1, :key_2, :key_3, :key_4, :key_5);
UPDATE items SET version = version + 1, sequence = last_insert_rowid(), updated_at = :time, reference_0 = :reference_0
WHERE id = :id
