-- Releases bytes, which are doomed at the end of their lease.
-- Parameters: $1, the name; $2, the number of uses, which a write that gives the bytes to an item changes.
-- Result: the number of rows.
UPDATE contents SET uses = 0 WHERE id = $1 AND uses = $2
