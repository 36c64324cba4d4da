-- Deletes items, and the items that belong to them: `INSERT INTO delete_step VALUES (NULL)`.
-- Parameters: the rows in `given`, which is empty afterwards. Result: the rows in `judged`; see `written.sql`.
CREATE TEMP TRIGGER delete_items INSTEAD OF INSERT ON delete_step BEGIN
    DELETE FROM judged;
    INSERT INTO judged (place, id, collection, parent, continues, kind, version, caller, acting, client, request_id, refusal)
    SELECT g.place, g.id, g.collection, i.parent, i.continues, 'deleted', i.version + 1, g.caller, g.acting, g.client, g.request_id,
        CASE
            WHEN (g.reads_hold) IS NOT TRUE THEN 1
            WHEN (i.collection = g.collection AND (g.parent IS NULL OR i.parent = g.parent)) IS NOT TRUE THEN 6
            WHEN (i.version = g.expected) IS NOT TRUE THEN 7
        END
    -- If one batch deletes an item and its parent, the deletion of the item comes first: after its parent it would be refused.
    FROM given g LEFT JOIN items i ON i.id = g.id WHERE g.id IS NOT NULL ORDER BY i.parent IS NULL, g.place;
    INSERT INTO judged (id, collection, parent, continues, kind, version, caller, acting, client, request_id)
    SELECT i.id, i.collection, i.parent, i.continues, 'deleted', i.version + 1, j.caller, j.acting, j.client, j.request_id
    FROM judged j JOIN items i ON i.parent = j.id WHERE j.refusal IS NULL AND i.id NOT IN (SELECT id FROM judged);
    INSERT INTO log_step VALUES (NULL);
    DELETE FROM items WHERE id IN (SELECT id FROM judged WHERE refusal IS NULL);
END
