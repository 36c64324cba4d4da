-- The most frequent values of a member, as of the last indexed change.
-- Parameters: $1, the collection; $2, the member; $3, the limit of values.
-- Result: `sequence` and `time` of the change, and `value` and `items`, null if there are none.
SELECT p.sequence, (SELECT c.time FROM changes c WHERE c.sequence = p.sequence) AS time, v.value, v.items
FROM search_progress p LEFT JOIN (
    SELECT value, items FROM value_counts
    WHERE collection = $1 AND member = $2 AND items > 0 ORDER BY items DESC, value LIMIT $3
) v ON TRUE
ORDER BY v.items DESC, v.value
