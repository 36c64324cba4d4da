-- Begins a transaction with the write lock, so that it cannot fail later because another has it.
-- Parameters: $1, the time of the request in microseconds. Result: `time`, later than that of every transaction before.
BEGIN IMMEDIATE;
UPDATE clock SET time = max(?, time + 1) ;
