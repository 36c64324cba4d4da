-- Records the last indexed change. Parameters: $1, the change. Result: no rows.
UPDATE search_progress SET sequence = $1
