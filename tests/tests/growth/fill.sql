-- Fills an empty store with {items} items and a tenth as many deleted ones, as the writes of the service would have left it. An item `n`
-- of a group has the id `filled_id(number, n)`; each eleventh was deleted at once. Up to five items of a group belong to each of the first
-- proposals. All groups are written in turns, small ones until they are full: their last changes are old. Only the words of one member are
-- indexed. A statement ends with a semicolon at the end of a line.

CREATE FUNCTION filled_id(number int, n bigint) RETURNS uuid IMMUTABLE PARALLEL SAFE LANGUAGE sql
    RETURN CAST('01920000-000' || number || '-7000-8000-' || lpad(to_hex(n), 12, '0') AS uuid);

CREATE TABLE filled_groups AS SELECT number, collection, title, {items} * CAST(share AS bigint) / 20 AS items FROM (VALUES
    (1, 'proposals', 'project_title', 8), (2, 'gadscores', 'checklist', 2), (3, 'files', 'filename', 2), (4, 'lib', 'title', 2),
    (5, 'cashprogram', 'expense_object', 2), (6, 'status', 'message', 2), (7, 'proposedprograms', 'title', 1), (8, 'statuses', 'label', 1)
) AS g (number, collection, title, share);

-- Tables are filled faster without indexes.
CREATE TABLE filled_indexes AS SELECT indexname AS name, indexdef AS definition FROM pg_indexes
    WHERE tablename IN ('changes', 'items', 'search_index') AND indexname NOT LIKE '%_pkey';
DO $$ DECLARE one record; BEGIN FOR one IN SELECT name FROM filled_indexes LOOP EXECUTE 'DROP INDEX ' || one.name; END LOOP; END $$;
ALTER TABLE items DROP CONSTRAINT items_parent_fkey;

-- Words: `kadyos` is in thirty items of each group, `palay` in a tenth of all, and the number in one of each group.
INSERT INTO changes (collection, item_id, version, kind, time, parent, members)
    SELECT collection, filled_id(number, n), version, CASE version WHEN 1 THEN 'created' ELSE 'deleted' END,
        1704067200000000 + 1000000 * CAST(n AS bigint) + version, CASE collection WHEN 'lib' THEN filled_id(1, n / 5 / 11 * 11) END,
        CASE collection
            WHEN CASE version WHEN 2 THEN collection END THEN NULL
            WHEN 'proposals' THEN json_build_object('proposal_type', (ARRAY['R&D Project', 'R&D Program', 'Non-R&D Project'])[n % 3 + 1],
                'project_title', w.title,
                'research_type', (ARRAY['Basic', 'Applied', 'Pilot Testing', 'Policy', 'Socio'])[n % 5 + 1],
                'researcher_id', 'R-' || n / 50, 'program_id', filled_id(7, n / 8 / 11 * 11),
                'start_date', CASE WHEN n < 40 THEN date '2031-05-01' ELSE date '2020-01-01' + CAST(n % 3600 AS int) END,
                'project_description', 'A description of usual length: ' || repeat('field trial ', 12))
            WHEN 'gadscores' THEN json_build_object('proposal_id', filled_id(1, n / 5 / 11 * 11), 'checklist', w.title,
                'total_score', '12.67', 'rating', (ARRAY['gender-sensitive', 'gender-responsive', 'promising'])[n % 3 + 1],
                'evaluator_id', 'E-' || n / 50)
            WHEN 'files' THEN json_build_object('proposal_id', filled_id(1, n / 5 / 11 * 11), 'filename', w.title, 'size_bytes', n,
                'document_type', (ARRAY['endorsement', 'budget', 'ethics'])[n % 3 + 1])
            WHEN 'lib' THEN json_build_object('title', w.title, 'amount', '84000.00 PHP',
                'expense_class', (ARRAY['PS', 'MOOE', 'EO'])[n % 3 + 1])
            WHEN 'cashprogram' THEN json_build_object('proposal_id', filled_id(1, n / 5 / 11 * 11), 'year', 2026 + n % 3,
                'expense_object', w.title, 'jan_amount', '12500.00', 'feb_amount', '99.50')
            WHEN 'status' THEN json_build_object('subject', filled_id(1, n / 5 / 11 * 11), 'message', w.title,
                'from_code', 'submitted', 'to_code', 'in_review')
            WHEN 'proposedprograms' THEN json_build_object('title', w.title, 'agency', 'Benguet State University',
                'start_date', '2026-01-01')
            ELSE json_build_object('label', w.title, 'code', 'c' || n, 'is_terminal', n % 2 = 0)
        END
    FROM (
        SELECT n, version, number, collection, CASE WHEN n < 30 THEN 'kadyos ' WHEN n % 10 = 0 THEN 'palay ' ELSE 'mais ' END || n AS title
        FROM generate_series(0, {items} * 44 / 100 - 1) AS s (n) JOIN filled_groups g ON n < g.items * 11 / 10
        JOIN (VALUES (1), (2)) AS v (version) ON version = 1 OR n % 11 = 10 ORDER BY n, number, version
    ) w;
INSERT INTO items (id, collection, parent, version, sequence, created_at, updated_at, reference_0, key_1, key_2, key_3, key_4, key_5)
    SELECT item_id, c.collection, parent, 1, sequence, time, time,
        CAST(CASE c.collection WHEN 'proposals' THEN members ->> 'program_id' ELSE members ->> 'proposal_id' END AS uuid),
        members ->> 'program_id', members ->> 'research_type', coalesce(members ->> 'researcher_id', members ->> 'evaluator_id'),
        CASE c.collection WHEN 'proposals' THEN members ->> 'start_date' END, coalesce(members ->> 'proposal_id', members ->> 'subject')
    FROM changes c WHERE NOT EXISTS (SELECT FROM changes d WHERE d.item_id = c.item_id AND d.kind = 'deleted') AND kind = 'created';
INSERT INTO search_index SELECT i.id, CAST(format(E'''\x01%s'':1,16382A ''%s'':1,16382A ''%s'':2,16382A', g.title, w[1], w[2]) AS tsvector)
    FROM items i JOIN changes c USING (sequence) JOIN filled_groups g ON g.collection = i.collection,
    LATERAL string_to_array(members ->> g.title, ' ') w;

DO $$ DECLARE one record; BEGIN FOR one IN SELECT definition FROM filled_indexes LOOP EXECUTE one.definition; END LOOP; END $$;
ALTER TABLE items ADD CONSTRAINT items_parent_fkey FOREIGN KEY (parent) REFERENCES items (id);

UPDATE search_progress SET sequence = (SELECT max(sequence) FROM changes);
INSERT INTO totals SELECT collection, CAST('00000000-0000-0000-0000-000000000000' AS uuid), 0, items, items * 12 / 10 FROM filled_groups;
INSERT INTO totals SELECT collection, parent, 0, count(*), count(*) FROM items WHERE parent IS NOT NULL GROUP BY collection, parent;
INSERT INTO value_counts SELECT i.collection, v.member, v.value, sum(v.weight) FROM items i JOIN changes c USING (sequence), LATERAL (
    SELECT m.member, members ->> m.member, 1
        FROM unnest(ARRAY['proposal_type', 'research_type', 'rating', 'document_type', 'expense_class', 'year']) AS m (member)
    UNION ALL SELECT 'start_date', left(members ->> 'start_date', 4), 1 WHERE i.collection = 'proposals'
    UNION ALL SELECT 'amounts', members ->> 'year' || a.month, a.weight FROM (VALUES ('-01', 1250000), ('-02', 9950)) AS a (month, weight)
) AS v (member, value, weight) WHERE v.value IS NOT NULL GROUP BY 1, 2, 3;
SELECT CAST(setval('write_clock', max(time)) AS text) FROM changes;

DROP FUNCTION filled_id;
DROP TABLE filled_groups, filled_indexes;
