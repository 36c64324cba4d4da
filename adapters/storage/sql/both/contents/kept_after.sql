-- Lists kept bytes that an item has or had.
-- Parameters: $1, the name before them; $2, the most rows. Result: rows of kept bytes.
SELECT c.id, c.sha256, c.size, c.crc32, c.damage FROM contents c WHERE c.state = 'kept' AND c.uses > 0 AND c.id > $1 ORDER BY c.id LIMIT $2
