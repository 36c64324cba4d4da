-- The complete steps of migrations. Parameters: none. Result: `migration`, `step`.
SELECT migration, step FROM schema_steps WHERE is_done = 1
