-- Makes sure that later transactions have later times. Parameters: $1, the time in microseconds. Result: no rows.
UPDATE clock SET time = max(time, $1)
