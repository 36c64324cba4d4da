-- An instance that is older than the schema allows and was seen within a minute. Others do not count: they ask before they
-- write again. Parameters: none. Result: `id`, `address`, `schema_version`, `seconds` (since it was seen).
SELECT i.id, i.address, i.schema_version, (extract(epoch FROM clock_timestamp()) - i.seen_at / 1000000)::bigint AS seconds
FROM service_instances i, schema_version v
WHERE i.schema_version < greatest(v.oldest_reader, v.oldest_writer)
    AND i.seen_at > (extract(epoch FROM clock_timestamp()) - 60) * 1000000
ORDER BY i.seen_at DESC LIMIT 1
