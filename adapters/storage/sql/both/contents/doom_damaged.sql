-- Dooms damaged bytes, which others with the same digest replace.
-- Parameters: $1, the digest. Result: the number of rows.
UPDATE contents SET state = 'doomed' WHERE sha256 = $1 AND state = 'kept' AND damage IS NOT NULL
