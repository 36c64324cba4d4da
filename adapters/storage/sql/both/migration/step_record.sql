-- Records a step of a migration: its first position, unless it has one, or its end.
-- Parameters: $1, the migration; $2, the step; $3, the position; $4, 1 at its end, or 0. Result: the number of rows.
INSERT INTO schema_steps (migration, step, position, is_done) VALUES ($1, $2, $3, $4)
ON CONFLICT (migration, step) DO UPDATE SET is_done = 1 WHERE excluded.is_done = 1
