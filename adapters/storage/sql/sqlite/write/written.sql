-- The outcomes of the last insert, update or delete. One row, because the driver wakes its caller for each. Parameters: none.
-- Result: `outcomes`, a JSON array: for each row given its id, the number of the condition that fails, and the item if it was
-- written and not deleted; see `Outcome`.
SELECT json_group_array(json_object('asked', hex(j.id), 'refusal', j.refusal, 'item', CASE WHEN i.id IS NOT NULL THEN json_object(
    'id', hex(i.id), 'version', i.version, 'created_at', i.created_at, 'updated_at', i.updated_at,
    'parent', nullif(hex(i.parent), ''), 'continues', nullif(hex(i.continues), ''),
    'continues_link', (SELECT hex(n.id) FROM items n WHERE n.id = i.continues),
    'reference_0', (SELECT hex(n.id) FROM items n WHERE n.id = i.reference_0 AND n.collection = j.reference_0_in),
    'continued_by', (SELECT group_concat(hex(n.id), ',' ORDER BY n.id) FROM items n WHERE n.continues = i.id)
) END)) AS outcomes
FROM judged j LEFT JOIN items i ON i.id = j.id AND j.refusal IS NULL WHERE j.place IS NOT NULL
