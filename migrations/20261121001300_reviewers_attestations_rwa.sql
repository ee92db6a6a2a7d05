-- Assets as they are served: identities, what reviews say beside their numbers, who signed them, and the real-world assets'
-- sources, figures and totals.

-- `number` is the public asset id: given on first sight, never computed again.
ALTER TABLE asset
    ADD COLUMN number            bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    -- The earliest observation, whichever observation filled the row.
    ADD COLUMN discovered_at     timestamptz,
    ADD COLUMN instrument_type   text,
    ADD COLUMN issuer            jsonb,
    -- A product that somebody claims the asset to be; counts for nothing until a reviewer signs it.
    ADD COLUMN product_candidate text;
UPDATE asset SET discovered_at = observed_at;
ALTER TABLE asset ALTER COLUMN discovered_at SET NOT NULL;

ALTER TABLE asset_version
    ADD COLUMN number          bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    ADD COLUMN institutional   jsonb,
    ADD COLUMN data_provenance jsonb NOT NULL DEFAULT '[]';

-- The score that was last published under each version. A version that came late was never published and has no row.
CREATE TABLE asset_version_score (
    asset_id    text NOT NULL,
    observed_at timestamptz NOT NULL,
    score       integer CHECK (score BETWEEN 0 AND 10000),
    tier        text,
    PRIMARY KEY (asset_id, observed_at),
    FOREIGN KEY (asset_id, observed_at) REFERENCES asset_version (asset_id, observed_at),
    CONSTRAINT version_tier_is_that_of_its_score CHECK (
        tier IS NOT DISTINCT FROM CASE WHEN score >= 8000 THEN 'Prime' WHEN score >= 5000 THEN 'Core' WHEN score >= 0 THEN 'Edge' END
    )
);

-- The data version in which anything served of assets last changed: the catalog reads them again only then.
CREATE TABLE asset_registry (
    version bigint NOT NULL,
    single  boolean PRIMARY KEY DEFAULT true CHECK (single)
);
INSERT INTO asset_registry (version) SELECT version FROM data_version;

CREATE TABLE reviewer (
    id           text PRIMARY KEY,
    name         text NOT NULL,
    organisation text,
    website_url  text,
    -- [{key_id, public_key, valid_from, valid_until}]; past keys stay, old signatures are checked with them.
    keys         jsonb NOT NULL,
    source       text NOT NULL,
    observed_at  timestamptz NOT NULL,
    content_hash bytea NOT NULL
);

-- A reviewer's Ed25519 signature under one version. What was signed is rebuilt from the rows whenever it is checked, so a
-- row that was altered since does not verify.
CREATE TABLE attestation (
    asset_id     text NOT NULL,
    reviewed_at  timestamptz NOT NULL,
    reviewer_id  text NOT NULL REFERENCES reviewer,
    number       bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    key_id       text NOT NULL,
    product_id   text,
    signed_at    timestamptz NOT NULL,
    -- 64 bytes in hex.
    signature    text NOT NULL,
    source       text NOT NULL,
    observed_at  timestamptz NOT NULL,
    content_hash bytea NOT NULL,
    PRIMARY KEY (asset_id, reviewed_at, reviewer_id),
    FOREIGN KEY (asset_id, reviewed_at) REFERENCES asset_version (asset_id, observed_at)
);

CREATE TABLE rwa_source (
    id              text PRIMARY KEY,
    name            text NOT NULL,
    source_type     text NOT NULL,
    url             text,
    is_enabled      boolean NOT NULL,
    is_configured   boolean NOT NULL,
    -- The smallest wins where several sources state one figure.
    priority        integer NOT NULL,
    max_age_seconds bigint NOT NULL CHECK (max_age_seconds > 0),
    last_attempt_at timestamptz,
    last_attempt_ok boolean,
    source          text NOT NULL,
    observed_at     timestamptz NOT NULL,
    content_hash    bytea NOT NULL,
    CHECK (num_nulls(last_attempt_at, last_attempt_ok) IN (0, 2))
);

-- One publication of a source states these figures of one deployment. A published figure never changes: ingest refuses it.
CREATE TABLE rwa_observation (
    source_id                        text NOT NULL REFERENCES rwa_source,
    publication_id                   text NOT NULL,
    asset_id                         text NOT NULL REFERENCES asset,
    number                           bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    published_at                     timestamptz NOT NULL,
    effective_at                     timestamptz NOT NULL,
    fund_aum_usd                     double precision CHECK (fund_aum_usd >= 0),
    global_issued_value_usd          double precision CHECK (global_issued_value_usd >= 0),
    deployment_circulating_value_usd double precision CHECK (deployment_circulating_value_usd >= 0),
    apy_7d_pct                       double precision,
    apy_30d_pct                      double precision,
    duration_days                    double precision CHECK (duration_days >= 0),
    source                           text NOT NULL,
    observed_at                      timestamptz NOT NULL,
    content_hash                     bytea NOT NULL,
    PRIMARY KEY (source_id, publication_id, asset_id)
);
CREATE INDEX rwa_observation_by_effect ON rwa_observation (effective_at);

-- The discovery queue: deployments that a source surfaced.
CREATE TABLE rwa_candidate (
    -- <source_id>:<chain_id>:<address>
    id            text PRIMARY KEY,
    source_id     text NOT NULL REFERENCES rwa_source,
    chain_id      bigint NOT NULL REFERENCES chain,
    address       text NOT NULL,
    symbol        text,
    name          text,
    state         text NOT NULL,
    evidence_url  text,
    -- The earliest observation.
    discovered_at timestamptz NOT NULL,
    source        text NOT NULL,
    observed_at   timestamptz NOT NULL,
    content_hash  bytea NOT NULL
);

-- Totals by day. A day that reads differently later gets another revision; the earlier ones stay.
CREATE TABLE rwa_aum_snapshot (
    snapshot_date date NOT NULL,
    revision      integer NOT NULL CHECK (revision > 0),
    recorded_at   timestamptz NOT NULL,
    content       jsonb NOT NULL,
    PRIMARY KEY (snapshot_date, revision)
);
