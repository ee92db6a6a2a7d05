-- The change feed's versions, who holds vaults' shares, and what vaults do with deposits.

-- A reader of changes must miss nothing, whoever writes what, whenever, with whichever instants. Versions are given out in
-- the order of commits, so the version in which a clock last moved is a place in the feed that nothing is put before later.
ALTER TABLE vault_score
    -- The vault's last reading as of `synced_version`, the data version in which it came.
    ADD COLUMN synced_at timestamptz,
    ADD COLUMN synced_version bigint,
    -- The data version in which the published score or tier last changed; null until a first score was published.
    ADD COLUMN published_version bigint;
UPDATE vault_score p SET
    synced_at = (SELECT s.observed_at FROM vault_state s WHERE s.vault_id = p.vault_id),
    synced_version = p.changed_version,
    published_version = CASE WHEN p.updated_at IS NOT NULL THEN p.changed_version END;
ALTER TABLE vault_score ALTER COLUMN synced_version SET NOT NULL;

-- What one look at a vault's holders found. Every look stays; the newest is the vault's. Of the balances themselves only the
-- largest are kept: the figures were made of all of them when they came. Shares are in parts per million, null where nobody
-- holds anything.
CREATE TABLE holder_snapshot (
    vault_id              text NOT NULL REFERENCES vault,
    observed_at           timestamptz NOT NULL,
    -- Null when the vault is its own share token.
    token_address         text,
    holder_count          bigint NOT NULL CHECK (holder_count >= 0),
    external_holder_count bigint NOT NULL CHECK (external_holder_count BETWEEN 0 AND holder_count),
    top1                  integer,
    top5                  integer,
    top10                 integer,
    hhi                   integer,
    external_top1         integer,
    external_top5         integer,
    external_top10        integer,
    external_hhi          integer,
    protocol_managed      integer,
    -- [{address, balance_raw (decimal digits), share, label, category, method}], largest first.
    top_holders           json NOT NULL,
    indexed_to_block      bigint CHECK (indexed_to_block >= 0),
    backfill_complete     boolean NOT NULL,
    coverage_status       text NOT NULL CHECK (coverage_status IN ('complete', 'indexing')),
    source                text NOT NULL,
    content_hash          bytea NOT NULL,
    PRIMARY KEY (vault_id, observed_at)
);

-- Which of the three routes shows what a protocol's vaults do with deposits; null is none of them.
ALTER TABLE protocol ADD COLUMN breakdown text CHECK (breakdown IN ('markets', 'strategies', 'strategy'));

-- A strategy of a vault as it stands.
CREATE TABLE vault_strategy (
    vault_id        text NOT NULL REFERENCES vault,
    -- The source's id, unique within the vault.
    strategy_id     text NOT NULL,
    address         text,
    name            text NOT NULL,
    strategy_type   text,
    description     text,
    is_active       boolean NOT NULL,
    -- Of the vault, as fractions: observed, and as its manager wants it.
    share           double precision CHECK (share BETWEEN 0 AND 1),
    target_share    double precision CHECK (target_share BETWEEN 0 AND 1),
    apr             double precision,
    apy             double precision,
    performance_fee double precision,
    last_report_at  timestamptz,
    -- [{name, kind, protocol_id, apr}]
    yield_sources   json NOT NULL,
    risk_flags      text[] NOT NULL,
    source_url      text,
    source          text NOT NULL,
    observed_at     timestamptz NOT NULL,
    content_hash    bytea NOT NULL,
    PRIMARY KEY (vault_id, strategy_id)
);
