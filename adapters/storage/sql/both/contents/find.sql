-- Finds the kept bytes with a digest.
-- Parameters: $1, the digest. Result: a row of kept bytes.
SELECT c.id, c.sha256, c.size, c.crc32, c.damage FROM contents c WHERE c.sha256 = $1 AND c.state = 'kept'
