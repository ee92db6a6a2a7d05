-- Lending markets with their reserves and efficiency modes, price feeds, positions of holders, and the days of symbols.
--
-- A market is one contract: `contract` is "{chain_id}:{address}", with the address as its chain writes it, so that two
-- Solana addresses that differ in case are two markets.

CREATE TABLE market (
    contract                text PRIMARY KEY,
    protocol_id             text NOT NULL REFERENCES protocol,
    protocol_version        text NOT NULL,
    chain_id                bigint NOT NULL REFERENCES chain,
    address                 text NOT NULL,
    name                    text NOT NULL,
    -- What the key is made of on first sight; the name where it is null.
    key_hint                text,
    shape                   text NOT NULL CHECK (shape IN ('pool', 'spoke', 'pair')),
    hub_address             text,
    discovered_by           text NOT NULL CHECK (discovered_by IN ('protocol_api', 'onchain_rpc')),
    loan_asset_symbol       text,
    collateral_asset_symbol text,
    lltv                    double precision CHECK (lltv BETWEEN 0 AND 1),
    is_protocol_listed      boolean NOT NULL,
    source                  text NOT NULL,
    observed_at             timestamptz NOT NULL,
    content_hash            bytea NOT NULL,
    CONSTRAINT only_a_pair_has_two_sides CHECK (shape = 'pair' OR num_nonnulls(loan_asset_symbol, collateral_asset_symbol, lltv) = 0)
);

-- Given once, on first sight of the contract. No statement changes or removes a row: a market keeps its id whatever is
-- observed of it later.
CREATE TABLE market_key (
    contract   text PRIMARY KEY REFERENCES market,
    market_key text NOT NULL,
    -- {protocol}-{version}-{chain}-{market_key}
    id         text NOT NULL UNIQUE
);

-- What the protocol reports of a pair. A pool's totals are the sums of its reserves.
CREATE TABLE market_state (
    contract           text PRIMARY KEY REFERENCES market,
    chain_id           bigint NOT NULL,
    address            text NOT NULL,
    total_supplied_usd double precision CHECK (total_supplied_usd >= 0),
    total_borrowed_usd double precision CHECK (total_borrowed_usd >= 0),
    source             text NOT NULL,
    observed_at        timestamptz NOT NULL,
    content_hash       bytea NOT NULL
);

CREATE TABLE market_reserve (
    contract             text NOT NULL REFERENCES market,
    -- The observer's name of the reserve within its market.
    reserve              text NOT NULL,
    chain_id             bigint NOT NULL,
    market_address       text NOT NULL,
    asset_symbol         text NOT NULL,
    asset_address        text NOT NULL,
    -- The vault that stands at this contract is the reserve's vault row.
    token_address        text,
    hub_address          text,
    fee_rate             double precision CHECK (fee_rate BETWEEN 0 AND 1),
    -- {spoke, hub} of a hub-and-spoke reserve; a part that was not read is null.
    gates                jsonb,
    -- What follows from the gates; null where there are none.
    borrow_status        text,
    deposit_status       text,
    deposit_capacity_usd double precision,
    is_active            boolean NOT NULL,
    source               text NOT NULL,
    observed_at          timestamptz NOT NULL,
    content_hash         bytea NOT NULL,
    PRIMARY KEY (contract, reserve)
);
CREATE INDEX market_reserve_by_token ON market_reserve (chain_id, token_address);

CREATE TABLE market_emode (
    contract              text NOT NULL REFERENCES market,
    emode_id              bigint NOT NULL CHECK (emode_id >= 0),
    chain_id              bigint NOT NULL,
    market_address        text NOT NULL,
    label                 text NOT NULL,
    ltv                   double precision NOT NULL,
    liquidation_threshold double precision NOT NULL,
    liquidation_bonus     double precision NOT NULL,
    collateral_assets     text[] NOT NULL,
    borrowable_assets     text[] NOT NULL,
    ltv_zero_assets       text[] NOT NULL,
    is_active             boolean NOT NULL,
    source                text NOT NULL,
    observed_at           timestamptz NOT NULL,
    content_hash          bytea NOT NULL,
    PRIMARY KEY (contract, emode_id)
);

CREATE TABLE oracle_feed (
    contract            text PRIMARY KEY,
    chain_id            bigint NOT NULL REFERENCES chain,
    address             text NOT NULL,
    feed_kind           text NOT NULL,
    asset               text,
    quote               text,
    description         text,
    other_descriptions  text[] NOT NULL,
    vendor              text,
    heartbeat_seconds   bigint CHECK (heartbeat_seconds > 0),
    deviation_threshold double precision CHECK (deviation_threshold >= 0),
    last_answer         text,
    last_update_at      timestamptz,
    used_by             text[] NOT NULL,
    reserve_symbols     text[] NOT NULL,
    source              text NOT NULL,
    observed_at         timestamptz NOT NULL,
    content_hash        bytea NOT NULL
);

-- What an address holds of a vault. A balance of 0 is a position that was left.
CREATE TABLE vault_position (
    holder       text NOT NULL,
    vault_id     text NOT NULL REFERENCES vault,
    -- Decimal digits, of any length.
    balance_raw  text NOT NULL,
    share        double precision CHECK (share BETWEEN 0 AND 1),
    source       text NOT NULL,
    observed_at  timestamptz NOT NULL,
    content_hash bytea NOT NULL,
    PRIMARY KEY (holder, vault_id)
);

-- Days that were added up when they had ended, over the vaults that were eligible then. Never written twice.
CREATE TABLE symbol_rollup (
    day       date PRIMARY KEY,
    rolled_at timestamptz NOT NULL
);
CREATE TABLE symbol_day (
    -- In upper case.
    symbol  text NOT NULL,
    day     date NOT NULL REFERENCES symbol_rollup,
    tvl_usd double precision NOT NULL,
    -- Null when no vault reported a rate.
    apr_net double precision,
    vaults  bigint NOT NULL,
    PRIMARY KEY (symbol, day)
);
CREATE INDEX vault_by_asset_symbol ON vault (asset_symbol);
