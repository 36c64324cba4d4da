-- Items. Parameters: $1, the items, a JSON array; $2, $3 and $4 as in `find.sql`. Result: as of `find.sql`.
SELECT i.id, i.version, i.created_at, i.updated_at, i.parent, i.continues,
    (SELECT n.id FROM items n WHERE n.id = i.continues) AS continues_link,
    (SELECT n.id FROM items n WHERE n.id = i.reference_0 AND n.collection = $4) AS reference_0,
    (SELECT string_agg(hex(n.id), ',' ORDER BY n.id) FROM items n WHERE n.continues = i.id) AS continued_by,
    CAST(c.members AS TEXT) AS members
FROM items i JOIN changes c ON c.sequence = i.sequence
WHERE i.id IN (SELECT unhex(value, '-') FROM json_each($1)) AND i.collection = $2 AND (i.parent = $3 OR $3 IS NULL)
