-- The columns of members in the full-text index. Parameters: none. Result: `collection`, `member`, `number`.
SELECT collection, member, number FROM search_columns
