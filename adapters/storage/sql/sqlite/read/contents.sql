-- The contents that changes left, in their order, up to a number of bytes. Outer joins begin with the changes that are asked for.
-- Parameters: $1, the changes, a JSON array; $2, their collection; $3, the number of bytes.
-- Result: `sequence`, `item_id`, `version`, `parent`, `members`, null where there are none.
WITH asked AS (
    SELECT key AS place, value AS sequence FROM json_each($1)
),
sized AS (
    SELECT a.place, a.sequence, COALESCE(octet_length(c.members), 0) AS bytes FROM asked a
    LEFT JOIN changes c ON c.sequence = a.sequence
),
measured AS (SELECT place, sequence, SUM(bytes) OVER (ORDER BY place) - bytes AS before FROM sized)
SELECT c.sequence, c.item_id, c.version, c.parent, CAST(c.members AS TEXT) AS members
FROM (SELECT * FROM measured WHERE before < $3) s
LEFT JOIN changes c ON c.sequence = s.sequence AND c.collection = $2
ORDER BY s.place
