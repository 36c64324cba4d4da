-- Versions with a body that were superseded before a time by indexed ones, among the next changes, and that answer no request
-- with a key. Keys have no index by item, so the query begins with the keys.
-- Parameters: $1, the change to begin after; $2, the limit of changes; $3, the time.
-- Result: `read_to`, `changes` (how many were looked through), and `sequence`, `item_id`, `written`, `superseded`, `bytes` of each version.
WITH looked AS MATERIALIZED (
    SELECT sequence, item_id, version, time, members IS NOT NULL AS has_body
    FROM changes WHERE sequence > $1 ORDER BY sequence LIMIT $2
),
t AS (SELECT MAX(sequence) AS read_to, COUNT(*) AS changes FROM looked)
SELECT t.read_to, t.changes, s.* FROM t LEFT JOIN (
    SELECT l.sequence, l.item_id, l.time AS written, n.time AS superseded, CAST(octet_length(c.members) AS BIGINT) AS bytes
    FROM looked l
    JOIN changes n ON n.item_id = l.item_id AND n.version = l.version + 1
    JOIN changes c ON c.sequence = l.sequence
    WHERE l.has_body AND n.time < $3
        AND l.sequence NOT IN (SELECT o.sequence FROM idempotency_keys k CROSS JOIN looked o
            WHERE o.item_id = k.item_id AND o.version = k.version)
        AND n.sequence <= (SELECT p.sequence FROM search_progress p)
) s ON TRUE ORDER BY s.sequence
