-- Adds a session. Parameters: $1, the digest of its id; $2, the caller; $3, its begin; $4, its end;
-- $5, the encrypted token. Result: the number of rows.
INSERT INTO sessions (digest, caller, began_at, ends_at, token) VALUES ($1, $2, $3, $4, $5)
