-- Deletes the oldest sessions of a caller. Clocks of instances differ, so the new one is excluded by its digest.
-- Parameters: $1, the caller; $2, the digest of the new session; $3, the number of others to keep. Result: the number of rows.
DELETE FROM sessions WHERE digest IN (
    SELECT digest FROM sessions WHERE caller = $1 AND digest <> $2 ORDER BY began_at DESC LIMIT 1000 OFFSET $3)
