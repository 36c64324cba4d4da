-- Marks an unknown caller as erased, by an empty name. Parameters: $1, the caller; $2, the time. Result: the number of rows.
INSERT INTO callers (id, name, first_seen, last_seen) VALUES ($1, '', $2, $2) ON CONFLICT (id) DO NOTHING
