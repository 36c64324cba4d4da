-- The caller who created an item.
-- Parameters: $1, the item; $2, its collection; $3, its parent, or null. Result: `created_by`.
SELECT i.created_by FROM items i WHERE i.id = $1 AND i.collection = $2 AND (i.parent = $3 OR $3 IS NULL)
