-- Prepares the count of the totals and the first reads of the service: without statistics they would be slow.
-- Parameters: none. Result: no rows.
SET LOCAL enable_seqscan = DEFAULT; SET LOCAL enable_hashjoin = DEFAULT; SET LOCAL enable_mergejoin = DEFAULT;
ANALYZE items, changes
