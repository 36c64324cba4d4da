-- Lists the kept bytes that an item has or had.
-- Parameters: none. Result: rows of name, digest and number of uses.
SELECT c.id, c.sha256, c.uses FROM contents c WHERE c.state = 'kept' AND c.uses > 0
