-- Inserts items, or restores deleted ones while no other write is in progress. Locks, decides, logs, writes and counts in one statement.
-- Parameters: one array per column of `given`, with one element per row; see `RowParameters` for their meaning.
-- Result: one row per row given: `id`, `refusal` (the number of the first condition that fails), and the item if it was written.
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
related AS (
    SELECT o.id, o.collection FROM items o
    WHERE o.id IN (SELECT parent FROM given UNION SELECT continues FROM given) ORDER BY o.id FOR KEY SHARE
),
judged AS (
    SELECT g.id, g.collection, g.members, g.reference_0, g.reference_0_in, g.key_1, g.key_2, g.key_3, g.key_4, g.key_5,
        g.caller, g.acting, g.client, g.request_id,
        g.parent, g.continues, 'created' AS kind, g.time,
        CASE g.kind WHEN 'created' THEN 1 ELSE (SELECT max(c.version) + 1 FROM changes c WHERE c.item_id = g.id) END AS version,
        CASE g.kind WHEN 'created' THEN g.time ELSE (SELECT f.time FROM changes f WHERE f.item_id = g.id AND f.version = 1) END AS created_at,
        CASE g.kind WHEN 'created' THEN g.caller ELSE (SELECT f.caller FROM changes f WHERE f.item_id = g.id AND f.version = 1) END AS created_by,
        CASE
            WHEN (g.reads_hold) IS NOT TRUE THEN 1
            WHEN (g.parent IS NULL OR p.collection = g.parent_collection) IS NOT TRUE THEN 2
            WHEN (g.continues IS NULL OR g.kind = 'restored' OR o.collection = g.collection) IS NOT TRUE THEN 3
            WHEN (g.kind = 'created' OR (SELECT max(c.version) FROM changes c WHERE c.item_id = g.id) IS NOT NULL) IS NOT TRUE THEN 4
            WHEN (g.kind = 'created' OR (SELECT i.version FROM items i WHERE i.id = g.id) IS NULL) IS NOT TRUE THEN 5
        END::bigint AS refusal
    FROM given g
    LEFT JOIN related p ON p.id = g.parent
    LEFT JOIN related o ON o.id = g.continues
),
possible AS (SELECT * FROM judged WHERE refusal IS NULL),
logged AS (
    INSERT INTO changes (
        collection, item_id, version, kind, time, caller, acting, client, request_id, parent, continues, members
    )
    SELECT collection, id, version, kind, time, caller, acting, client, request_id, parent, continues, members::json
    FROM possible
    RETURNING item_id, sequence
),
written AS (
    INSERT INTO items AS i (
        id, collection, parent, version, sequence, created_at, updated_at, created_by, continues,
        reference_0, key_1, key_2, key_3, key_4, key_5
    )
    SELECT p.id, p.collection, p.parent, p.version, l.sequence, p.created_at, p.time, p.created_by, p.continues,
        p.reference_0, p.key_1, p.key_2, p.key_3, p.key_4, p.key_5
    FROM possible p JOIN logged l ON l.item_id = p.id
    RETURNING i.id, i.collection, i.parent, i.version, i.created_at, i.created_by, i.updated_at, i.continues, i.reference_0
),
-- A lane per connection, so that concurrent writers hardly wait for each other. The totals of a parent remain
-- after its deletion, so that no revision is used twice.
counted AS (
    INSERT INTO totals AS t (collection, parent, lane, items, writes)
    SELECT collection, scope, pg_backend_pid() % 16, count(*), count(*)
    FROM (
        SELECT collection, '00000000-0000-0000-0000-000000000000'::uuid AS scope FROM written
        UNION ALL SELECT collection, parent FROM written WHERE parent IS NOT NULL
    ) AS scopes
    GROUP BY collection, scope ORDER BY collection, scope
    ON CONFLICT (collection, parent, lane)
    DO UPDATE SET items = t.items + excluded.items, writes = t.writes + excluded.writes
)
SELECT j.id, j.refusal, i.version, i.created_at, i.created_by, i.updated_at, i.parent, i.continues,
    (SELECT n.id FROM items n WHERE n.id = i.continues) AS continues_link,
    (SELECT n.id FROM items n WHERE n.id = i.reference_0 AND n.collection = j.reference_0_in) AS reference_0,
    (SELECT string_agg(n.id::text, ',' ORDER BY n.id) FROM items n WHERE n.continues = i.id) AS continued_by
FROM judged j LEFT JOIN written i ON i.id = j.id
