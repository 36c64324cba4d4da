-- Sets the clock of the connection that writes to the latest stored time.
-- Parameters: none. Result: no rows.
UPDATE clock SET time = coalesce((
    WITH RECURSIVE names (name) AS (
        SELECT min(collection) FROM changes
        UNION ALL
        SELECT (SELECT min(c.collection) FROM changes c WHERE c.collection > name) FROM names WHERE name IS NOT NULL
    )
    SELECT max((SELECT max(c.time) FROM changes c WHERE c.collection = name)) FROM names
), 0)
