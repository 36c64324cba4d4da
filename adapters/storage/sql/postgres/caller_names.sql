-- The names of callers who were not erased. Parameters: $1, the callers, a JSON array. Result: `id`, `name`.
SELECT id, name FROM callers WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::json))) AND name <> ''
