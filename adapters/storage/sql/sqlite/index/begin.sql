-- Begins a step of the full-text index. Parameters: none. Result: `sequence`, the last indexed change.
SELECT sequence FROM search_progress
