-- Looks for an index. Parameters: $1, its name. Result: `is_valid`, or no row.
SELECT i.indisvalid AS is_valid FROM pg_index i WHERE i.indexrelid = to_regclass($1)
