-- The progress of the removal of bodies. Parameters: none. Result: `policy`, `sequence`, `begins_at`.
SELECT policy, sequence, begins_at FROM compaction LIMIT 1
