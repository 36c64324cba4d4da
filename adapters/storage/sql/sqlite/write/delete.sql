-- Deletes an item and the items that belong to it. Parameters: as `insert.sql`. Result: as `insert.sql`, of an
-- item only `collection` and `parent`.
SELECT g.id, CASE
    WHEN (g.reads_hold) IS NOT TRUE THEN 1
    WHEN (i.collection = g.collection AND (g.parent IS NULL OR i.parent = g.parent)) IS NOT TRUE THEN 6
    WHEN (i.version = g.expected) IS NOT TRUE THEN 7
END AS refusal, d.collection, d.parent
FROM (SELECT :id AS id, :collection AS collection, :parent AS parent, :expected AS expected, :reads_hold AS reads_hold) g
LEFT JOIN items i ON i.id = g.id LEFT JOIN items d ON d.id = i.id OR d.parent = i.id;
INSERT INTO changes (collection, item_id, version, kind, time, caller, acting, client, request_id, parent, continues, members)
SELECT collection, id, version + 1, 'deleted', :time, :caller, :acting, :client, :request_id, parent, continues, NULL
FROM items WHERE id = :id OR parent = :id ORDER BY id <> :id, id;
DELETE FROM items WHERE id = :id OR parent = :id
