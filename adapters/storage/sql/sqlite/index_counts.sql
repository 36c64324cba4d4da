-- Adds to counts of values, up to the largest integer.
-- Parameters: $1, the counts to add, a JSON array. Result: no rows.
INSERT INTO value_counts AS v (collection, member, value, items)
SELECT value ->> 'collection', value ->> 'member', value ->> 'value', value ->> 'items' FROM json_each($1) WHERE TRUE
ON CONFLICT (collection, member, value) DO UPDATE SET items =
    CASE WHEN excluded.items > 0 AND v.items > 9223372036854775807 - excluded.items
    THEN 9223372036854775807 ELSE v.items + excluded.items END
