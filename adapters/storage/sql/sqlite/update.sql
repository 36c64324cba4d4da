-- Replaces the members of items.
-- Parameters: the rows in the temporary table `given`, which is empty afterwards.
-- Result: one row per row given: `asked` (its id), `refusal` (the number of the first condition that fails), and the item if it was written.
DELETE FROM judged;
INSERT INTO judged
SELECT g.place, g.id, g.collection, i.parent, i.continues, g.kind, g.reference_0, g.reference_0_in,
    g.key_1, g.key_2, g.key_3, g.key_4, g.key_5, g.caller, g.acting, g.client, g.request_id,
    i.version + 1, i.created_at, i.created_by,
    i.key_1 IS g.key_1 AND i.key_2 IS g.key_2 AND i.key_3 IS g.key_3 AND i.key_4 IS g.key_4 AND i.key_5 IS g.key_5,
    CASE
        WHEN (g.reads_hold) IS NOT TRUE THEN 1
        WHEN (i.collection = g.collection AND (g.parent IS NULL OR i.parent = g.parent)) IS NOT TRUE THEN 2
        WHEN (i.version = g.expected) IS NOT TRUE THEN 3
    END
FROM given g LEFT JOIN items i ON i.id = g.id WHERE g.id IS NOT NULL;
INSERT INTO changes (collection, item_id, version, kind, time, caller, acting, client, request_id, parent, continues, members)
SELECT j.collection, j.id, j.version, j.kind, clock.time, j.caller, j.acting, j.client, j.request_id, j.parent, j.continues,
    g.members
FROM judged j JOIN given g ON g.place = j.place, clock WHERE j.refusal IS NULL ORDER BY j.place;
-- An index is written only if its column is assigned.
UPDATE items SET version = j.version, sequence = c.sequence, updated_at = c.time, reference_0 = j.reference_0
FROM judged j CROSS JOIN changes c ON c.item_id = j.id AND c.version = j.version
WHERE items.id = j.id AND j.refusal IS NULL AND j.has_same_keys;
UPDATE items SET version = j.version, sequence = c.sequence, updated_at = c.time, reference_0 = j.reference_0,
    key_1 = j.key_1, key_2 = j.key_2, key_3 = j.key_3, key_4 = j.key_4, key_5 = j.key_5
FROM judged j CROSS JOIN changes c ON c.item_id = j.id AND c.version = j.version
WHERE items.id = j.id AND j.refusal IS NULL AND NOT j.has_same_keys;
INSERT INTO totals (collection, parent, lane, items, writes)
SELECT collection, scope, 0, 0, count(*)
FROM (
    SELECT collection, zeroblob(16) AS scope FROM judged WHERE refusal IS NULL
    UNION ALL SELECT collection, parent FROM judged WHERE refusal IS NULL AND parent IS NOT NULL
)
WHERE TRUE GROUP BY collection, scope
ON CONFLICT (collection, parent, lane) DO UPDATE SET items = items + excluded.items, writes = writes + excluded.writes;
SELECT j.id AS asked, j.refusal, i.id, i.version, i.created_at, i.updated_at, i.parent, i.continues,
    (SELECT n.id FROM items n WHERE n.id = i.continues) AS continues_link,
    (SELECT n.id FROM items n WHERE n.id = i.reference_0 AND n.collection = j.reference_0_in) AS reference_0,
    (SELECT group_concat(hex(n.id), ',' ORDER BY n.id) FROM items n WHERE n.continues = i.id) AS continued_by
FROM judged j LEFT JOIN items i ON i.id = j.id AND j.refusal IS NULL;
DELETE FROM given;
