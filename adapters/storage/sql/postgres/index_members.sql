-- The members of items after their last change up to one.
-- Parameters: $1, the ids, a JSON array; $2, the number of the change.
-- Result: `id`, and `members`, null if the item was deleted or has no such change.
SELECT g.id, (
    SELECT CAST(c.members AS TEXT) FROM changes c WHERE c.item_id = g.id AND c.sequence <= $2
    ORDER BY c.version DESC LIMIT 1
) AS members
FROM (SELECT value::uuid AS id FROM json_array_elements_text($1::json)) g
