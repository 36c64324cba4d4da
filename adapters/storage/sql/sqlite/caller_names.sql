-- The names of callers who were not erased. Parameters: $1, the callers, a JSON array. Result: `id`, `name`.
SELECT id, name FROM callers WHERE id IN (SELECT value FROM json_each($1)) AND name <> ''
