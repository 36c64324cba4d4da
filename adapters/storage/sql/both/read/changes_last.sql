-- The number of the last change. Parameters: none. Result: `last`, null before the first change.
SELECT MAX(sequence) AS last FROM changes
