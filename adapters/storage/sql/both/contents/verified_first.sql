-- Finds the kept bytes that were verified longest ago.
-- Parameters: $1, a time; later verifications do not count; $2, the same for damaged bytes. Result: a row of kept bytes.
SELECT c.id, c.sha256, c.size, c.crc32, c.damage FROM contents c
WHERE c.state = 'kept' AND (c.verified_at < $1 OR c.damage IS NOT NULL AND c.verified_at < $2) ORDER BY c.verified_at LIMIT 1
