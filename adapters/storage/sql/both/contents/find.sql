-- Finds the kept bytes with a digest.
-- Parameters: $1, the digest. Result: their name, size and CRC-32.
SELECT c.id, c.size, c.crc32 FROM contents c WHERE c.sha256 = $1 AND c.state = 'kept'
