-- Lists doomed names.
-- Parameters: $1, the most rows. Result: names.
SELECT c.id FROM contents c WHERE c.state = 'doomed' ORDER BY c.id LIMIT $1
