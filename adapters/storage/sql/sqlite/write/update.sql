-- Replaces the members of an item. Parameters: as `insert.sql`. Result: as `insert.sql`.
SELECT g.id AS asked, CASE
    WHEN (g.reads_hold) IS NOT TRUE THEN 1
    WHEN (i.collection = g.collection AND (g.parent IS NULL OR i.parent = g.parent)) IS NOT TRUE THEN 6
    WHEN (i.version = g.expected) IS NOT TRUE THEN 7
END AS refusal, i.collection, i.parent
FROM (SELECT :id AS id, :collection AS collection, :parent AS parent, :expected AS expected, :reads_hold AS reads_hold) g
LEFT JOIN items i ON i.id = g.id;
INSERT INTO changes (collection, item_id, version, kind, time, caller, acting, client, request_id, parent, continues, members)
SELECT collection, id, version + 1, :kind, :time, :caller, :acting, :client, :request_id, parent, continues, :members
FROM items WHERE id = :id;
-- An index is written only if its column is assigned.
UPDATE items SET version = version + 1, sequence = last_insert_rowid(), updated_at = :time, reference_0 = :reference_0
WHERE id = :id
    AND key_1 IS :key_1 AND key_2 IS :key_2 AND key_3 IS :key_3 AND key_4 IS :key_4 AND key_5 IS :key_5;
UPDATE items SET version = version + 1, sequence = last_insert_rowid(), updated_at = :time, reference_0 = :reference_0,
    key_1 = :key_1, key_2 = :key_2, key_3 = :key_3, key_4 = :key_4, key_5 = :key_5
WHERE id = :id AND sequence <> last_insert_rowid()
