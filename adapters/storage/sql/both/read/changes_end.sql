-- The end of the log above a mark.
-- Parameters: $1, the mark. Result: `last`, the last change above it; `above`, how many there are.
SELECT MAX(sequence) AS last, COUNT(*) AS above FROM changes WHERE sequence > $1
