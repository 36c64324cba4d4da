-- The folder or bucket that has the bytes, and whether any are known.
-- Parameters: none. Result: one row: its id, or NULL; 1 or 0.
SELECT (SELECT s.id FROM content_store s) AS id, (SELECT count(*) FROM (SELECT c.id FROM contents c LIMIT 1) f) AS names
