-- Where markets, their reserves and their efficiency modes were read on a chain: {chain_id, block_number, block_hash, calls, agreed, asked}.
-- Null for what a source stated.
ALTER TABLE market         ADD COLUMN evidence jsonb;
ALTER TABLE market_reserve ADD COLUMN evidence jsonb;
ALTER TABLE market_emode   ADD COLUMN evidence jsonb;
