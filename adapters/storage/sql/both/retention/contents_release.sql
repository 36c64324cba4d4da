-- Dooms bytes, unless a write has given them to an item, or an upload may.
-- Parameters: $1, the name; $2, the number of uses before; $3, the current time. Result: the number of rows.
UPDATE contents SET state = 'doomed' WHERE id = $1 AND state = 'kept' AND uses = $2 AND lease_until < $3
