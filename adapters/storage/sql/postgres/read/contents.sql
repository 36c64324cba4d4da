-- The contents that changes left, in their order, up to a number of bytes. Outer joins begin with the changes that are asked for.
-- Parameters: $1, the changes, a JSON array; $2, their collection; $3, the number of bytes.
-- Result: `sequence`, `item_id`, `version`, `parent`, `members`, null where there are none.
WITH asked AS (
    SELECT o.place, o.sequence::bigint AS sequence
    FROM json_array_elements_text($1::json) WITH ORDINALITY AS o (sequence, place)
),
sized AS (
    SELECT a.place, a.sequence, COALESCE(octet_length(c.members::text), 0) AS bytes FROM asked a
    LEFT JOIN LATERAL (SELECT * FROM changes c WHERE c.sequence = a.sequence OFFSET 0) c ON TRUE
),
measured AS (SELECT place, sequence, SUM(bytes) OVER (ORDER BY place) - bytes AS before FROM sized)
SELECT c.sequence, c.item_id, c.version, c.parent, CAST(c.members AS TEXT) AS members
FROM (SELECT * FROM measured WHERE before < $3) s
LEFT JOIN LATERAL (
    SELECT * FROM changes c WHERE c.sequence = s.sequence AND c.collection = $2 OFFSET 0
) c ON TRUE
ORDER BY s.place
