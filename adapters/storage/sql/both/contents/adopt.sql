-- Adds bytes that items have already, unless the same bytes are kept.
-- Parameters: $1, the name; $2, the digest; $3, the size; $4, the CRC-32; $5, the current time. Result: the number of rows.
INSERT INTO contents (id, state, sha256, size, crc32, uses, lease_until, place, verified_at, damage)
VALUES ($1, 'kept', $2, $3, $4, 1, $5, NULL, $5, NULL) ON CONFLICT DO NOTHING
