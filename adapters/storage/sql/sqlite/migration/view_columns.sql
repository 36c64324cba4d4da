-- The columns of the view `proposals`. Parameters: none. Result: `name`.
SELECT name FROM pragma_table_info('proposals') ORDER BY cid
