-- Lists doomed names.
-- Parameters: $1, the most rows. Result: names, and the keys that remove unfinished bytes.
SELECT c.id, c.place FROM contents c WHERE c.state = 'doomed' ORDER BY c.id LIMIT $1
