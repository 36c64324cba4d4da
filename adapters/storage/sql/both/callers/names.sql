-- The names of callers who were not erased. Parameters: $1, a JSON object with the callers as keys. Result: `id`, `name`.
SELECT id, name FROM callers WHERE id IN (SELECT key FROM json_each(json(CAST($1 AS TEXT)))) AND name <> ''
