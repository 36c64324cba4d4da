-- The id of the history. Parameters: none. Result: `id`.
SELECT id FROM history
