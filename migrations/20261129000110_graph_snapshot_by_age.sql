-- no-transaction
-- The newest snapshots, whose bodies are kept: each build looks for them, and snapshots are never deleted.
CREATE INDEX CONCURRENTLY IF NOT EXISTS graph_snapshot_by_age ON graph_snapshot (built_at DESC, snapshot_id);
