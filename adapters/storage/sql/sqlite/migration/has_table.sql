-- Looks for a table. Parameters: $1, its name. Result: one row or none.
SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = $1
