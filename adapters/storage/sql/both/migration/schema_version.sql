-- The version of the schema, and the oldest service that may read and write it.
-- Parameters: none. Result: `version`, `oldest_reader`, `oldest_writer`.
SELECT version, oldest_reader, oldest_writer FROM schema_version
