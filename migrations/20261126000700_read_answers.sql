-- Answers about assets that the service reads from chains itself.

-- Where an answer was read: {chain_id, block_number, block_hash, calls, agreed, asked}. Null for an answer that a reviewer gave.
ALTER TABLE asset_answer ADD COLUMN evidence jsonb;

-- A retraction takes back what was read of a chain from a block on.
CREATE INDEX asset_answer_by_block ON asset_answer (((evidence->>'chain_id')::bigint), ((evidence->>'block_number')::bigint))
    WHERE evidence IS NOT NULL;
