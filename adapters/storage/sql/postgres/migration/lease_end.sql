-- Deletes the row of an instance that ends. Parameters: $1, the instance. Result: no rows.
DELETE FROM service_instances WHERE id = $1
