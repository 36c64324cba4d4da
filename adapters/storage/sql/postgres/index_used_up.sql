-- Deletes those of the counts that are used up.
-- Parameters: $1, the counts to add, a JSON array. Result: no rows.
DELETE FROM value_counts v
USING json_to_recordset($1::json) AS g (collection text, member text, value text)
WHERE v.collection = g.collection AND v.member = g.member AND v.value = g.value AND v.items <= 0
