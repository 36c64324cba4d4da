-- The changes that wait for the full-text index.
-- Parameters: none. Result: `changes`, how many there are; `oldest`, the time of the first, or null.
SELECT COALESCE((SELECT MAX(c.sequence) FROM changes c), 0) - p.sequence AS changes,
    (SELECT c.time FROM changes c WHERE c.sequence > p.sequence ORDER BY c.sequence LIMIT 1) AS oldest
FROM search_progress p
