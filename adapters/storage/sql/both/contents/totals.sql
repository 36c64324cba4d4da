-- Counts the names by state.
-- Parameters: none. Result: one row of numbers.
SELECT count(CASE WHEN c.state = 'arriving' THEN 1 END) AS arriving, count(CASE WHEN c.state = 'kept' THEN 1 END) AS kept,
    CAST(coalesce(sum(CASE WHEN c.state = 'kept' THEN c.size END), 0) AS BIGINT) AS bytes,
    count(CASE WHEN c.state = 'doomed' THEN 1 END) AS doomed, count(c.damage) AS damaged
FROM contents c
