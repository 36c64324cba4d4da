-- Sets the values of lookups for the transaction. Parameters: $1, a JSON array. Result: one row, which is not used.
SELECT set_config('proposal_service.lookups', $1, true)
