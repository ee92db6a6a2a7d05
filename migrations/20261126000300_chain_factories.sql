-- A factory that an operator names later made its vaults before the block up to which the chain was searched, so its earlier events are still
-- to be looked at.
ALTER TABLE chain_sync ADD COLUMN factories text[] NOT NULL DEFAULT '{}';
