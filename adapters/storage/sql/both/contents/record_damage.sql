-- Records the result of a verification.
-- Parameters: $1, the name; $2, `missing`, `truncated`, `corrupted` or NULL. Result: the number of rows.
UPDATE contents SET damage = $2 WHERE id = $1
