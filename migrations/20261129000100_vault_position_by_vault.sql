-- no-transaction
-- The positions of one vault: each reading of its holders on a chain compares them. The primary key begins with the holder.
CREATE INDEX CONCURRENTLY IF NOT EXISTS vault_position_by_vault ON vault_position (vault_id);
