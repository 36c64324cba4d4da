-- Adds to the totals of a scope. Parameters: the collection, the parent or the nil UUID, the items and the writes. Result: no rows.
INSERT INTO totals (collection, parent, lane, items, writes) VALUES (?1, ?2, 0, ?3, ?4)
ON CONFLICT (collection, parent, lane) DO UPDATE SET items = items + excluded.items, writes = writes + excluded.writes
