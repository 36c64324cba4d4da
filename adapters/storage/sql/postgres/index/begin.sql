-- Begins a step of the full-text index. Parameters: none. Result: `sequence`, the last indexed change; no row while another instance indexes.
SELECT sequence FROM search_progress FOR UPDATE SKIP LOCKED
