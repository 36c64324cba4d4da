-- Inserts items.
-- Parameters: the rows in the temporary table `given`, which is empty afterwards.
-- Result: one row per row given: `asked` (its id), `refusal` (the number of the first condition that fails), and the item if it was written.
DELETE FROM judged;
INSERT INTO judged
SELECT g.place, g.id, g.collection, g.parent, g.continues, 'created', g.reference_0, g.reference_0_in,
    g.key_1, g.key_2, g.key_3, g.key_4, g.key_5, g.caller, g.acting, g.client, g.request_id,
    1, (SELECT time FROM clock), g.caller, NULL,
    CASE
        WHEN (g.reads_hold) IS NOT TRUE THEN 1
        WHEN (g.parent IS NULL OR p.collection = g.parent_collection) IS NOT TRUE THEN 2
        WHEN (g.continues IS NULL OR o.collection = g.collection) IS NOT TRUE THEN 3
    END
FROM given g LEFT JOIN items p ON p.id = g.parent LEFT JOIN items o ON o.id = g.continues WHERE g.id IS NOT NULL;
INSERT INTO changes (collection, item_id, version, kind, time, caller, acting, client, request_id, parent, continues, members)
SELECT j.collection, j.id, j.version, j.kind, clock.time, j.caller, j.acting, j.client, j.request_id, j.parent, j.continues,
    g.members
FROM judged j JOIN given g ON g.place = j.place, clock WHERE j.refusal IS NULL ORDER BY j.place;
INSERT INTO items (
    id, collection, parent, version, sequence, created_at, updated_at, created_by, continues,
    reference_0, key_1, key_2, key_3, key_4, key_5
)
SELECT j.id, j.collection, j.parent, j.version, c.sequence, j.created_at, c.time, j.created_by, j.continues,
    j.reference_0, j.key_1, j.key_2, j.key_3, j.key_4, j.key_5
FROM judged j CROSS JOIN changes c ON c.item_id = j.id AND c.version = j.version WHERE j.refusal IS NULL ORDER BY j.place;
INSERT INTO totals (collection, parent, lane, items, writes)
SELECT collection, scope, 0, count(*), count(*)
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
