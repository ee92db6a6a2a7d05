-- Vaults: what they are and who controls them, their newest state, the history of their states, rewards, exposures.

CREATE TABLE vault (
    -- {protocol_id}-{chain_id}-{address}
    id               text PRIMARY KEY,
    protocol_id      text NOT NULL REFERENCES protocol,
    chain_id         bigint NOT NULL REFERENCES chain,
    address          text NOT NULL,
    name             text NOT NULL,
    symbol           text,
    asset_symbol     text,
    asset_address    text,
    asset_decimals   integer,
    curator_id       text REFERENCES curator,
    strategy         text,
    asset_mode       text NOT NULL CHECK (asset_mode IN ('lending', 'holdings')),
    deployed_at      timestamptz,
    first_seen_at    timestamptz,
    is_immutable     boolean,
    timelock_seconds bigint CHECK (timelock_seconds >= 0),
    -- "immutable", "dao", "eoa" or {"threshold", "owners"}
    signers          jsonb,
    exit             text NOT NULL,
    source_code      text NOT NULL,
    is_active        boolean NOT NULL,
    is_shutdown      boolean NOT NULL,
    is_stablecoin    boolean NOT NULL,
    is_lsd           boolean NOT NULL,
    single_exposure  boolean NOT NULL,
    no_il            boolean NOT NULL,
    management_fee   double precision,
    performance_fee  double precision,
    tags             text[] NOT NULL,
    flags            text[] NOT NULL,
    evidence         jsonb NOT NULL,
    source           text NOT NULL,
    observed_at      timestamptz NOT NULL,
    content_hash     bytea NOT NULL,
    UNIQUE (chain_id, address)
);
CREATE INDEX vault_by_protocol ON vault (protocol_id);
CREATE INDEX vault_by_curator ON vault (curator_id);
CREATE INDEX vault_by_deposit_asset ON vault (chain_id, asset_address);

CREATE TABLE vault_state (
    vault_id             text PRIMARY KEY REFERENCES vault,
    tvl_usd              double precision CHECK (tvl_usd >= 0),
    tvl_native           double precision,
    base_apr             double precision,
    utilization          double precision,
    borrow_apr           double precision,
    active_loans_usd     double precision,
    borrow_status        text NOT NULL,
    incentives           text NOT NULL CHECK (incentives IN ('checked', 'unavailable', 'not_applicable')),
    deposit_status       text NOT NULL,
    withdraw_status      text NOT NULL,
    deposit_capacity_usd double precision,
    price_per_share      double precision,
    bad_debt_usd         double precision,
    needs_risk_review    boolean NOT NULL,
    source               text NOT NULL,
    observed_at          timestamptz NOT NULL,
    content_hash         bytea NOT NULL
);

-- Every reading of every vault. Rates with rewards are not stored: they follow from `reward` as of the same instant.
CREATE TABLE vault_snapshot (
    vault_id        text NOT NULL REFERENCES vault,
    observed_at     timestamptz NOT NULL,
    tvl_usd         double precision,
    base_apr        double precision,
    utilization     double precision,
    borrow_apr      double precision,
    incentives      text NOT NULL,
    price_per_share double precision,
    content_hash    bytea NOT NULL,
    PRIMARY KEY (vault_id, observed_at)
);

-- A campaign as it stood from `observed_at` on; the newest row of a campaign at an instant is its state then.
CREATE TABLE reward (
    vault_id      text NOT NULL REFERENCES vault,
    source        text NOT NULL,
    campaign_id   text NOT NULL,
    side          text NOT NULL CHECK (side IN ('supply', 'borrow')),
    observed_at   timestamptz NOT NULL,
    reward_type   text NOT NULL,
    token_symbol  text,
    token_address text,
    apr           double precision,
    source_url    text,
    active        boolean NOT NULL,
    content_hash  bytea NOT NULL,
    PRIMARY KEY (vault_id, source, campaign_id, side, observed_at)
);

CREATE TABLE exposure (
    vault_id     text PRIMARY KEY REFERENCES vault,
    status       text NOT NULL CHECK (status IN ('observed', 'unavailable')),
    -- [{asset_id or vault_id, share (a fraction), oracle, lltv, same_peg}]
    parts        jsonb NOT NULL,
    -- The nested vaults among the parts, which most vaults have none of.
    nested       jsonb NOT NULL GENERATED ALWAYS AS (jsonb_path_query_array(parts, '$[*].vault_id ? (@ != null)')) STORED,
    source       text NOT NULL,
    observed_at  timestamptz NOT NULL,
    content_hash bytea NOT NULL
);
CREATE INDEX exposure_by_part ON exposure USING gin (parts jsonb_path_ops);
CREATE INDEX exposure_with_nested ON exposure (vault_id) WHERE nested <> '[]';
