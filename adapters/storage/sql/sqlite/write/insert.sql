-- Inserts an item, or restores a deleted one. The statements are executed one by one, each with the parameters that it names.
-- Parameters: the fields of `RowParameters`, and `:time`, that of the transaction in microseconds.
-- Result: of the first statement, for each item to write `id`, `refusal` (the number of the condition that fails),
-- and the item as it will be, with its links. After a refusal the other statements are left out.
SELECT g.id, CASE
    WHEN (g.reads_hold) IS NOT TRUE THEN 1
    WHEN (g.parent IS NULL OR p.collection = g.parent_collection) IS NOT TRUE THEN 2
    WHEN (g.continues IS NULL OR g.kind = 'restored' OR o.collection = g.collection) IS NOT TRUE THEN 3
    WHEN (g.kind = 'created' OR (SELECT max(c.version) FROM changes c WHERE c.item_id = g.id) IS NOT NULL) IS NOT TRUE THEN 4
    WHEN (g.kind = 'created' OR (SELECT i.version FROM items i WHERE i.id = g.id) IS NULL) IS NOT TRUE THEN 5
END AS refusal, g.collection, g.parent, g.continues, o.id AS continues_link,
    CASE g.kind WHEN 'created' THEN 1 ELSE (SELECT max(c.version) + 1 FROM changes c WHERE c.item_id = g.id) END AS version,
    CASE g.kind WHEN 'created' THEN :time ELSE (SELECT c.time FROM changes c WHERE c.item_id = g.id AND c.version = 1) END AS created_at,
    CASE g.kind WHEN 'created' THEN :caller ELSE (SELECT c.caller FROM changes c WHERE c.item_id = g.id AND c.version = 1) END AS created_by,
    :time AS updated_at,
    (SELECT n.id FROM items n WHERE n.id = :reference_0 AND n.collection = :reference_0_in) AS reference_0,
    (SELECT group_concat(hex(id), ',') FROM (SELECT e.id FROM items e WHERE e.continues = g.id ORDER BY e.id)) AS continued_by
FROM (
    SELECT :id AS id, :collection AS collection, :parent AS parent, :parent_collection AS parent_collection,
        :continues AS continues, :kind AS kind, :reads_hold AS reads_hold
) g
LEFT JOIN items p ON p.id = g.parent LEFT JOIN items o ON o.id = g.continues;
INSERT INTO changes (collection, item_id, version, kind, time, caller, acting, client, request_id, parent, continues, members)
VALUES (
    :collection, :id,
    CASE :kind WHEN 'created' THEN 1 ELSE (SELECT max(version) + 1 FROM changes WHERE item_id = :id) END,
    'created', :time, :caller, :acting, :client, :request_id, :parent, :continues, :members
);
INSERT INTO items (
    id, collection, parent, version, sequence, created_at, updated_at, created_by, continues,
    reference_0, key_1, key_2, key_3, key_4, key_5
)
SELECT c.item_id, c.collection, c.parent, c.version, c.sequence, f.time, c.time, f.caller, c.continues,
    :reference_0, :key_1, :key_2, :key_3, :key_4, :key_5
FROM changes c CROSS JOIN changes f ON f.item_id = c.item_id AND f.version = 1
WHERE c.sequence = last_insert_rowid()
