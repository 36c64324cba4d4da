-- Adds to counts of values, up to the largest integer. Parameters: $1, the counts to add, a JSON object. Result: no rows.
INSERT INTO value_counts AS v (collection, member, value, items)
SELECT value ->> 'collection', value ->> 'member', value ->> 'value', CAST(value ->> 'items' AS BIGINT)
FROM json_each(json(CAST($1 AS TEXT))) WHERE TRUE
ON CONFLICT (collection, member, value) DO UPDATE SET items =
    CASE WHEN excluded.items > 0 AND v.items > 9223372036854775807 - excluded.items
    THEN 9223372036854775807 ELSE v.items + excluded.items END
