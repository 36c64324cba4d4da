-- Deletes items, and the items that belong to them.
-- Parameters: the rows in the temporary table `given`, which is empty afterwards.
-- Result: one row per row given: `asked` (its id), `refusal` (the number of the first condition that fails).
DELETE FROM judged;
DELETE FROM removed;
INSERT INTO judged (place, id, caller, acting, client, request_id, refusal)
SELECT g.place, g.id, g.caller, g.acting, g.client, g.request_id, CASE
    WHEN (g.reads_hold) IS NOT TRUE THEN 1
    WHEN (i.collection = g.collection AND (g.parent IS NULL OR i.parent = g.parent)) IS NOT TRUE THEN 2
    WHEN (i.version = g.expected) IS NOT TRUE THEN 3
END
FROM given g LEFT JOIN items i ON i.id = g.id WHERE g.id IS NOT NULL;
INSERT INTO removed
SELECT i.id, i.collection, i.version, i.parent, i.continues, j.caller, j.acting, j.client, j.request_id
FROM judged j JOIN items i ON i.id = j.id WHERE j.refusal IS NULL
UNION ALL
SELECT i.id, i.collection, i.version, i.parent, i.continues, j.caller, j.acting, j.client, j.request_id
FROM judged j JOIN items i ON i.parent = j.id WHERE j.refusal IS NULL AND i.id NOT IN (SELECT id FROM judged);
INSERT INTO changes (collection, item_id, version, kind, time, caller, acting, client, request_id, parent, continues, members)
SELECT collection, id, version + 1, 'deleted', time, caller, acting, client, request_id, parent, continues, NULL
FROM removed, clock;
DELETE FROM items WHERE id IN (SELECT id FROM removed);
INSERT INTO totals (collection, parent, lane, items, writes)
SELECT collection, scope, 0, -count(*), count(*)
FROM (
    SELECT collection, zeroblob(16) AS scope FROM removed
    UNION ALL SELECT collection, parent FROM removed WHERE parent IS NOT NULL
)
WHERE TRUE GROUP BY collection, scope
ON CONFLICT (collection, parent, lane) DO UPDATE SET items = items + excluded.items, writes = writes + excluded.writes;
SELECT id AS asked, refusal FROM judged;
DELETE FROM given;
