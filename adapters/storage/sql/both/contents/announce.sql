-- Adds a name for bytes that arrive.
-- Parameters: $1, the name; $2, the end of its lease. Result: the number of rows.
INSERT INTO contents (id, state, sha256, size, crc32, uses, lease_until, place, verified_at, damage)
VALUES ($1, 'arriving', NULL, 0, 0, 0, $2, NULL, 0, NULL)
