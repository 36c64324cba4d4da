-- Something trivial that only a store in working order answers. Parameters: none. Result: `version`, or no row.
SELECT version FROM items LIMIT 1
