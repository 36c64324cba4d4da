-- Keeps the name of a caller, unless the caller was erased.
-- Parameters: $1, the caller; $2, the name; $3, the time. Result: the number of rows.
INSERT INTO callers (id, name, first_seen, last_seen) VALUES ($1, $2, $3, $3)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, last_seen = excluded.last_seen WHERE callers.name <> ''
