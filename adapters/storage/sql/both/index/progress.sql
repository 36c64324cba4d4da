-- The progress of the full-text index. Parameters: none.
-- Result: `indexed`, the last indexed change; `written`, the last change; `oldest`, the time of the first that waits, or null.
SELECT p.sequence AS indexed, COALESCE((SELECT MAX(c.sequence) FROM changes c), 0) AS written,
    (SELECT c.time FROM changes c WHERE c.sequence > p.sequence ORDER BY c.sequence LIMIT 1) AS oldest
FROM search_progress p
