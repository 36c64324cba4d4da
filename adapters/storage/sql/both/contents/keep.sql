-- Keeps arrived bytes. Fails on the unique index if the same bytes are kept under another name.
-- Parameters: $1, the name; $2, the digest; $3, the size; $4, the CRC-32; $5, the end of the lease; $6, the current time, at which
-- the bytes are as good as verified; $7, the uses.
-- Result: the number of rows.
UPDATE contents SET state = 'kept', sha256 = $2, size = $3, crc32 = $4, lease_until = $5, verified_at = $6, uses = $7
WHERE id = $1 AND state = 'arriving'
