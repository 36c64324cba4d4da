-- The id of the history, with the number of the table, which is another one in a restored dump. Parameters: none. Result: `id`.
SELECT id || to_hex('history'::regclass::oid::bigint) AS id FROM history
