-- Sets the folder or bucket that has the bytes, unless one is set.
-- Parameters: $1, its id. Result: the number of rows.
INSERT INTO content_store (id) SELECT $1 WHERE NOT EXISTS (SELECT 1 FROM content_store)
