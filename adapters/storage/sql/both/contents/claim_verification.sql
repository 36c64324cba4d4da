-- Sets the time of a verification that begins, unless another instance has done so.
-- Parameters: $1, the name; $2 and $3, the times before which the last verification was, of sound and of damaged bytes; $4, the
-- current time. Result: the number of rows.
UPDATE contents SET verified_at = $4
WHERE id = $1 AND state = 'kept' AND (verified_at < $2 OR damage IS NOT NULL AND verified_at < $3)
