-- Inserts items, or restores deleted ones: `INSERT INTO insert_step VALUES (NULL)`.
-- Parameters: the rows in `given`, which is empty afterwards. Result: the rows in `judged`; see `written.sql`.
CREATE TEMP TRIGGER insert_items INSTEAD OF INSERT ON insert_step BEGIN
    DELETE FROM judged;
    INSERT INTO judged
    SELECT g.place, g.id, g.collection, g.parent, g.continues, 'created', g.reference_0, g.reference_0_in,
        g.key_1, g.key_2, g.key_3, g.key_4, g.key_5, g.caller, g.acting, g.client, g.request_id,
        CASE g.kind WHEN 'created' THEN 1 ELSE (SELECT max(c.version) + 1 FROM changes c WHERE c.item_id = g.id) END,
        CASE g.kind WHEN 'created' THEN clock.time ELSE (SELECT f.time FROM changes f WHERE f.item_id = g.id AND f.version = 1) END,
        CASE g.kind WHEN 'created' THEN g.caller ELSE (SELECT f.caller FROM changes f WHERE f.item_id = g.id AND f.version = 1) END, NULL,
        CASE
            WHEN (g.reads_hold) IS NOT TRUE THEN 1
            WHEN (g.parent IS NULL OR p.collection = g.parent_collection) IS NOT TRUE THEN 2
            WHEN (g.continues IS NULL OR g.kind = 'restored' OR o.collection = g.collection) IS NOT TRUE THEN 3
            WHEN (g.kind = 'created' OR (SELECT max(c.version) FROM changes c WHERE c.item_id = g.id) IS NOT NULL) IS NOT TRUE THEN 4
            WHEN (g.kind = 'created' OR (SELECT i.version FROM items i WHERE i.id = g.id) IS NULL) IS NOT TRUE THEN 5
        END
    FROM clock, given g LEFT JOIN items p ON p.id = g.parent LEFT JOIN items o ON o.id = g.continues
    WHERE g.id IS NOT NULL;
    INSERT INTO log_step VALUES (NULL);
    INSERT INTO items (
        id, collection, parent, version, sequence, created_at, updated_at, created_by, continues,
        reference_0, key_1, key_2, key_3, key_4, key_5
    )
    SELECT j.id, j.collection, j.parent, j.version, c.sequence, j.created_at, (SELECT time FROM clock), j.created_by, j.continues,
        j.reference_0, j.key_1, j.key_2, j.key_3, j.key_4, j.key_5
    FROM judged j CROSS JOIN changes c ON c.item_id = j.id AND c.version = j.version
    WHERE j.refusal IS NULL ORDER BY j.rowid;
END
