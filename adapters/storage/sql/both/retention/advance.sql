-- Records the progress of the removal of bodies.
-- Parameters: $1, the policy; $2, the change; $3, when the next pass begins; $4, 1 to release the lease, or 0; $5, the holder.
-- Result: the number of rows.
UPDATE compaction SET policy = $1, sequence = $2, begins_at = $3, held_until = CASE CAST($4 AS BIGINT) WHEN 1 THEN 0 ELSE held_until END
WHERE holder = $5
