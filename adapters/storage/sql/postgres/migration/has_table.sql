-- Looks for a table. Parameters: $1, its name. Result: one row or none.
SELECT 1 FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = $1
