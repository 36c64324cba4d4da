-- Fails if a table or a column is missing that statements name. Parameters: none. Result: no rows.
SELECT id, name, first_seen, last_seen FROM callers LIMIT 0;
SELECT sequence, collection, item_id, version, kind, time, caller, acting, client, request_id, parent, continues, members, removed_at
    FROM changes LIMIT 0;
SELECT id, collection, parent, version, sequence, created_at, updated_at, created_by, continues, reference_0,
    key_1, key_2, key_3, key_4, key_5 FROM items LIMIT 0;
SELECT collection, parent, lane, items, writes FROM totals LIMIT 0;
SELECT caller, path, key, fingerprint, expires_at, item_id, version, continues, continued_by, remarks, reference_0
    FROM idempotency_keys LIMIT 0;
SELECT sequence FROM search_progress LIMIT 0;
SELECT collection, member, value, items FROM value_counts LIMIT 0;
SELECT policy, sequence, begins_at, holder, held_until FROM compaction LIMIT 0;
SELECT id, state, sha256, size, crc32, uses, lease_until, place, verified_at, damage FROM contents LIMIT 0;
SELECT id FROM content_store LIMIT 0;
SELECT digest, caller, began_at, ends_at, token FROM sessions LIMIT 0;
SELECT id FROM history LIMIT 0;
SELECT version, oldest_reader, oldest_writer FROM schema_version LIMIT 0
