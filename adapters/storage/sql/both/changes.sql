-- The changes after a number. Beyond the high-water mark they end before the first hole, that is, before the first change after a missing number.
-- Parameters: $1, the number; $2, the limit of rows; $3, the high-water mark.
-- Result: `hole`, the number after the first hole; `read_to`, the last change before it; the columns of each change, null if there is none.
WITH looked AS MATERIALIZED (
    SELECT *, sequence > $3 AND
        sequence - CASE WHEN previous > $3 THEN previous ELSE CAST($3 AS BIGINT) END > 1 AS is_after_hole
    FROM (
        SELECT *, COALESCE(LAG(sequence) OVER (ORDER BY sequence), $1) AS previous
        FROM (
            SELECT sequence, collection, item_id, version, kind, time, caller, acting, client, request_id, removed_at
            FROM changes WHERE sequence > $1 ORDER BY sequence LIMIT $2
        ) f
    ) l
),
t AS (SELECT MIN(CASE WHEN is_after_hole THEN sequence END) AS hole FROM looked),
whole AS (SELECT l.* FROM looked l, t WHERE t.hole IS NULL OR l.sequence < t.hole)
SELECT t.hole, (SELECT MAX(sequence) FROM whole) AS read_to, c.* FROM t LEFT JOIN whole c ON TRUE ORDER BY c.sequence
