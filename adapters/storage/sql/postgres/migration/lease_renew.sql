-- Renews the row of an instance, unless it is too old, and deletes those of a day before. The lock is that of a migration
-- that raises the oldest versions.
-- Parameters: $1, the instance; $2, the schema version that it knows. Result: `version`, `oldest_reader`, `oldest_writer`.
WITH schema AS (SELECT version, oldest_reader, oldest_writer FROM schema_version FOR SHARE),
now AS (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS time),
forgotten AS (DELETE FROM service_instances i USING now WHERE i.seen_at < now.time - 86400000000),
renewed AS (
    INSERT INTO service_instances (id, schema_version, address, seen_at)
    SELECT $1, $2, coalesce(host(inet_client_addr()), 'this machine'), now.time FROM schema, now WHERE oldest_writer <= $2
    ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at
)
SELECT version, oldest_reader, oldest_writer FROM schema
