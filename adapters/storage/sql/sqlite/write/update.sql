-- Replaces the members of items: `INSERT INTO update_step VALUES (NULL)`.
-- Parameters: the rows in `given`, which is empty afterwards. Result: the rows in `judged`; see `written.sql`.
CREATE TEMP TRIGGER update_items INSTEAD OF INSERT ON update_step BEGIN
    DELETE FROM judged;
    INSERT INTO judged
    SELECT g.place, g.id, g.collection, i.parent, i.continues, g.kind, g.reference_0, g.reference_0_in,
        g.key_1, g.key_2, g.key_3, g.key_4, g.key_5, g.caller, g.acting, g.client, g.request_id,
        i.version + 1, i.created_at, i.created_by,
        i.key_1 IS g.key_1 AND i.key_2 IS g.key_2 AND i.key_3 IS g.key_3 AND i.key_4 IS g.key_4 AND i.key_5 IS g.key_5,
        CASE
            WHEN (g.reads_hold) IS NOT TRUE THEN 1
            WHEN (i.collection = g.collection AND (g.parent IS NULL OR i.parent = g.parent)) IS NOT TRUE THEN 6
            WHEN (i.version = g.expected) IS NOT TRUE THEN 7
        END
    FROM given g LEFT JOIN items i ON i.id = g.id WHERE g.id IS NOT NULL;
    INSERT INTO log_step VALUES (NULL);
    -- An index is written only if its column is assigned.
    UPDATE items SET version = j.version, sequence = c.sequence, updated_at = (SELECT time FROM clock), reference_0 = j.reference_0
    FROM judged j CROSS JOIN changes c ON c.item_id = j.id AND c.version = j.version
    WHERE items.id = j.id AND j.refusal IS NULL AND j.has_same_keys;
    UPDATE items SET version = j.version, sequence = c.sequence, updated_at = (SELECT time FROM clock), reference_0 = j.reference_0,
        key_1 = j.key_1, key_2 = j.key_2, key_3 = j.key_3, key_4 = j.key_4, key_5 = j.key_5
    FROM judged j CROSS JOIN changes c ON c.item_id = j.id AND c.version = j.version
    WHERE items.id = j.id AND j.refusal IS NULL AND NOT j.has_same_keys;
END
