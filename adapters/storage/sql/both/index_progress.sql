-- The progress of the full-text index.
-- Parameters: none. Result: `indexed`, the last indexed change; `written`, the last change.
SELECT p.sequence AS indexed, COALESCE((SELECT MAX(c.sequence) FROM changes c), 0) AS written FROM search_progress p
