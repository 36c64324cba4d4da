-- Finds a name.
-- Parameters: $1, the name. Result: one row if it is known.
SELECT 1 AS known FROM contents c WHERE c.id = $1
