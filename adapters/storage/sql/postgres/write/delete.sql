-- Deletes items, and the items that belong to them. Locks, decides, logs, writes and counts in one statement.
-- Parameters: one array per column of `given`, with one element per row; see `RowParameters` for their meaning.
-- Result: one row per row given: `id`, `refusal` (the number of the first condition that fails).
-- The lock on `write_fence` is taken before the snapshot and held until the transaction ends.
WITH fence AS (DELETE FROM write_fence WHERE FALSE),
clock AS MATERIALIZED (
    SELECT coalesce(
        nullif(current_setting('proposal_service.time', true), '')::bigint,
        greatest((extract(epoch FROM clock_timestamp()) * 1000000)::bigint, (SELECT last_value + 1 FROM write_clock))
    ) AS time
),
given AS (
    SELECT g.*, clock.time FROM clock, unnest(
        $1::uuid[], $2::text[], $3::uuid[], $4::text[], $5::uuid[], $6::text[], $7::bigint[], $8::text[], $9::uuid[],
        $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[],
        $18::text[], $19::text[], $20::boolean[]
    ) AS g (
        id, collection, parent, parent_collection, continues, kind, expected, members, reference_0, reference_0_in,
        key_1, key_2, key_3, key_4, key_5, caller, acting, client, request_id, reads_hold
    )
),
-- Locked before their changes are numbered and timed, so that both grow with the versions of an item.
found AS (
    SELECT i.id, i.collection, i.parent, i.continues, i.version, i.updated_at
    FROM items i JOIN given g ON g.id = i.id ORDER BY i.id FOR UPDATE OF i
),
judged AS (
    SELECT g.id, g.caller, g.acting, g.client, g.request_id, CASE
        WHEN (g.reads_hold) IS NOT TRUE THEN 1
        WHEN (i.collection = g.collection AND (g.parent IS NULL OR i.parent = g.parent)) IS NOT TRUE THEN 6
        WHEN (i.version = g.expected) IS NOT TRUE THEN 7
    END::bigint AS refusal
    FROM given g LEFT JOIN found i ON i.id = g.id
),
-- The items to delete, each with the deletion that it goes with.
target AS (
    SELECT id, id AS with_id FROM judged WHERE refusal IS NULL
    UNION ALL
    SELECT c.id, j.id FROM judged j JOIN items c ON c.parent = j.id
    WHERE j.refusal IS NULL AND c.id NOT IN (SELECT id FROM given)
),
written AS (
    DELETE FROM items i USING target t WHERE i.id = t.id
    RETURNING i.id, i.collection, i.parent, i.version + 1 AS version, i.updated_at, i.continues, t.with_id
),
removal AS (SELECT greatest((SELECT time FROM clock), max(updated_at) + 1) AS time FROM written),
logged AS (
    INSERT INTO changes (
        collection, item_id, version, kind, time, caller, acting, client, request_id, parent, continues, members
    )
    SELECT w.collection, w.id, w.version, 'deleted', removal.time, j.caller, j.acting, j.client, j.request_id,
        w.parent, w.continues, NULL::json
    FROM removal, written w JOIN judged j ON j.id = w.with_id
    -- If one batch deletes an item and its parent, the deletion of the item comes first: after its parent it would be refused.
    ORDER BY w.parent IS NULL OR w.with_id <> w.id, w.id
),
-- A lane per connection, so that concurrent writers hardly wait for each other. The totals of a parent remain
-- after its deletion, so that no revision is used twice.
counted AS (
    INSERT INTO totals AS t (collection, parent, lane, items, writes)
    SELECT collection, scope, pg_backend_pid() % 16, -count(*), count(*)
    FROM (
        SELECT collection, '00000000-0000-0000-0000-000000000000'::uuid AS scope FROM written
        UNION ALL SELECT collection, parent FROM written WHERE parent IS NOT NULL
    ) AS scopes
    GROUP BY collection, scope ORDER BY collection, scope
    ON CONFLICT (collection, parent, lane)
    DO UPDATE SET items = t.items + excluded.items, writes = t.writes + excluded.writes
)
SELECT id, refusal FROM judged
