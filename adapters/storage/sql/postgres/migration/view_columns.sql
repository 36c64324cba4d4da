-- The columns of the view `proposals`. Parameters: none. Result: `name`.
SELECT column_name::text AS name FROM information_schema.columns
WHERE table_schema = current_schema() AND table_name = 'proposals' ORDER BY ordinal_position
