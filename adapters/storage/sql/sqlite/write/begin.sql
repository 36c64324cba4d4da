-- Begins a transaction with the write lock, so that it cannot fail later because another has it. Sets the clock later than
-- that of every transaction before. Parameters: the time of the request in microseconds. Result: no rows.
BEGIN IMMEDIATE;
UPDATE clock SET time = max(?, time + 1) ;
