-- Advances a step from a position, if it is still there.
-- Parameters: $1, the new position; $2, 1 at its end, or 0; $3, the migration; $4, the step; $5, the position.
-- Result: the number of rows.
UPDATE schema_steps SET position = $1, is_done = $2
WHERE migration = $3 AND step = $4 AND position = $5 AND is_done = 0
