-- Deletes those of the counts that are used up. Parameters: $1, the counts that were added, a JSON object. Result: no rows.
DELETE FROM value_counts WHERE items <= 0 AND (collection, member, value) IN (
    SELECT value ->> 'collection', value ->> 'member', value ->> 'value' FROM json_each(json(CAST($1 AS TEXT)))
)
