-- Gives members columns of the full-text index.
-- Parameters: $1, a JSON array of [collection, member, number]. Result: no rows.
INSERT INTO search_columns (collection, member, number) SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each($1)
