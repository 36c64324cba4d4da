-- Dooms the bytes that no item has had at the end of their lease. A concurrent write that gives them to an
-- item changes `uses`, so PostgreSQL evaluates the condition again after it.
-- Parameters: $1, the current time. Result: the number of rows.
UPDATE contents SET state = 'doomed' WHERE uses = 0 AND state <> 'doomed' AND lease_until < $1
