-- Versions with a body that were superseded before a time by indexed ones, among the next changes, and that answer no request
-- with a key. Keys have no index by item, so the query begins with the keys.
-- Parameters: $1, the change to begin after; $2, the limit of changes; $3, the time.
-- Result: `read_to`, `changes` (how many were looked through), and `sequence`, `item_id`, `written`, `superseded`, `bytes` of each version.
WITH looked AS MATERIALIZED (
    SELECT sequence, item_id, version, time AS written, members IS NOT NULL AS has_body
    FROM changes WHERE sequence > $1 ORDER BY sequence LIMIT $2
),
old AS (
    SELECT l.*, (SELECT n.time FROM changes n WHERE n.item_id = l.item_id AND n.version = l.version + 1
        AND n.sequence <= (SELECT p.sequence FROM search_progress p)) AS superseded
    FROM looked l WHERE l.has_body AND l.sequence NOT IN (
        SELECT o.sequence FROM idempotency_keys k CROSS JOIN looked o WHERE o.item_id = k.item_id AND o.version = k.version
    )
)
SELECT t.read_to, t.changes, o.sequence, o.item_id, o.written, o.superseded, (
    SELECT CAST(octet_length(CAST(c.members AS TEXT)) AS BIGINT) FROM changes c WHERE c.sequence = o.sequence
) AS bytes
FROM (SELECT MAX(sequence) AS read_to, COUNT(*) AS changes FROM looked) t LEFT JOIN old o ON o.superseded < $3
ORDER BY o.sequence
