-- The steps of migrations. Parameters: none. Result: `migration`, `step`, `position`, `is_done`.
SELECT migration, step, position, is_done FROM schema_steps
