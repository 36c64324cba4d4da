-- Extends the lease of the kept bytes with a digest, unless they are damaged.
-- Parameters: $1, the digest; $2, the new end. Result: the number of rows.
UPDATE contents SET lease_until = CASE WHEN lease_until < $2 THEN $2 ELSE lease_until END
WHERE sha256 = $1 AND state = 'kept' AND damage IS NULL
