-- Deletes those of the counts that are used up.
-- Parameters: $1, the counts to add, a JSON array. Result: no rows.
DELETE FROM value_counts WHERE items <= 0 AND (collection, member, value) IN (
    SELECT value ->> 'collection', value ->> 'member', value ->> 'value' FROM json_each($1)
)
