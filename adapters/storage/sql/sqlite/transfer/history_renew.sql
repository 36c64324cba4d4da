-- Gives the file a new history. Parameters: none. Result: no rows.
UPDATE history SET id = lower(hex(randomblob(4)))
