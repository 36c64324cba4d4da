-- The sizes of the parts of the store. Parameters: none. Result: `part`, `bytes`.
SELECT part, coalesce(pg_total_relation_size(to_regclass(part)), 0) AS bytes
FROM (VALUES ('changes'), ('items'), ('search_index'), ('value_counts'), ('idempotency_keys')) AS parts (part)
