-- Facts that the service reads from chains itself, the block up to which each chain was read, and how they overlay stated facts.

-- One field of one vault, read at one block. Later readings do not replace earlier ones, so that a reorganisation can take readings back.
CREATE TABLE chain_reading (
    vault_id     text NOT NULL REFERENCES vault,
    -- A column of vault or vault_state.
    field        text NOT NULL,
    -- Null if the field was known before and is not understood any more.
    value        jsonb,
    chain_id     bigint NOT NULL REFERENCES chain,
    block_number bigint NOT NULL CHECK (block_number >= 0),
    block_hash   text NOT NULL,
    -- [{method, contract, data, answer}]: the calls at the block, in the order in which one led to the next.
    calls        jsonb NOT NULL,
    -- Operators that gave these answers, out of those that were asked.
    agreed       integer NOT NULL CHECK (agreed >= 1),
    asked        integer NOT NULL CHECK (asked >= agreed),
    source       text NOT NULL,
    -- The block's time.
    observed_at  timestamptz NOT NULL,
    content_hash bytea NOT NULL,
    PRIMARY KEY (vault_id, field, observed_at)
);
CREATE INDEX chain_reading_by_block ON chain_reading (chain_id, block_number);

-- The newest block at which a chain was read. All its vaults are as they were read, up to this block.
CREATE TABLE chain_sync (
    chain_id     bigint PRIMARY KEY REFERENCES chain,
    block_number bigint NOT NULL CHECK (block_number >= 0),
    block_hash   text NOT NULL,
    -- Up to this block, events of new vaults were looked for; null if they never were.
    searched_to  bigint,
    -- Why the chain is not read any more, until an operator resumes it; null while it is read.
    halted       text,
    -- Whether the chain was served before it was halted.
    was_served   boolean,
    source       text NOT NULL,
    observed_at  timestamptz NOT NULL,
    content_hash bytea NOT NULL
);

-- A row with readings shows, in the columns that were read, the newest of what its source stated and what was read.
ALTER TABLE vault
    -- What the source stated in the columns that can be read; null if the row has no readings.
    ADD COLUMN stated   jsonb,
    -- {column: {source, observed_at, evidence}} of the columns that show a reading.
    ADD COLUMN readings jsonb;

ALTER TABLE vault_state
    ADD COLUMN stated   jsonb,
    ADD COLUMN readings jsonb,
    -- Time of the newest reading; null without readings.
    ADD COLUMN read_at  timestamptz;

-- Where exposures were read on a chain: {chain_id, block_number, block_hash, calls, agreed, asked}. Null for exposures that a source stated.
ALTER TABLE exposure ADD COLUMN evidence jsonb;

-- A contract that looks like a vault, found by its events. It is served only as a row of vault.
CREATE TABLE chain_candidate (
    chain_id       bigint NOT NULL REFERENCES chain,
    address        text NOT NULL,
    name           text,
    symbol         text,
    asset_address  text NOT NULL,
    asset_symbol   text,
    asset_decimals integer NOT NULL,
    -- The block of the event by which it was found.
    block_number   bigint NOT NULL,
    source         text NOT NULL,
    observed_at    timestamptz NOT NULL,
    content_hash   bytea NOT NULL,
    PRIMARY KEY (chain_id, address)
);

-- A final block was replaced: what was read from block `from_block` on is taken back.
CREATE TABLE chain_retraction (
    chain_id     bigint NOT NULL REFERENCES chain,
    from_block   bigint NOT NULL CHECK (from_block >= 0),
    -- A block that was replaced.
    block_hash   text NOT NULL,
    reason       text NOT NULL,
    source       text NOT NULL,
    observed_at  timestamptz NOT NULL,
    content_hash bytea NOT NULL,
    PRIMARY KEY (chain_id, from_block, block_hash)
);
