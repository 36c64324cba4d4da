-- The position of an incomplete step of a migration. Parameters: $1, the migration; $2, the step. Result: `position`, or no row.
SELECT position FROM schema_steps WHERE migration = $1 AND step = $2 AND is_done = 0
