-- The parents of items, and the identifiers that their bodies contain. An expression keeps the planner from the index by
-- collection.
-- Parameters: $1, the items, a JSON array; $2, the references, a JSON array of objects with `collection` and `member`.
-- Result: `item_id`, and `parent` or `target`.
SELECT c.item_id, c.parent, CAST(NULL AS TEXT) AS target FROM changes c WHERE c.item_id IN (SELECT unhex(value, '-') FROM json_each($1)) AND c.parent IS NOT NULL
UNION
SELECT c.item_id, NULL, c.members ->> r.member
FROM changes c CROSS JOIN (SELECT value ->> 'collection' AS collection, value ->> 'member' AS member FROM json_each($2)) r
WHERE c.item_id IN (SELECT unhex(value, '-') FROM json_each($1)) AND c.collection || '' = r.collection AND length(c.members ->> r.member) = 36
