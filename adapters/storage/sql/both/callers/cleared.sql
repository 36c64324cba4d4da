-- Erases the name of a known caller. Parameters: $1, the caller. Result: the number of rows.
UPDATE callers SET name = '' WHERE id = $1 AND name <> ''
