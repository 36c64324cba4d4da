-- Takes the lease of the removal of bodies if it is free, or renews it.
-- Parameters: $1, the holder; $2, its end; $3, the current time. Result: the number of rows.
UPDATE compaction SET holder = $1, held_until = $2 WHERE holder = $1 OR held_until < $3
