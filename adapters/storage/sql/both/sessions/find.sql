-- A session that has not ended. Parameters: $1, the digest of its id; $2, the current time.
-- Result: `caller`, `began_at`, `ends_at`, `token`.
SELECT caller, began_at, ends_at, token FROM sessions WHERE digest = $1 AND ends_at > $2
