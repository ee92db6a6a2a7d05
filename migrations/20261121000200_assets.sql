-- Assets (one row a deployment), the versions of their reviews, and the score that follows.

CREATE TABLE asset (
    id                  text PRIMARY KEY,
    chain_id            bigint NOT NULL REFERENCES chain,
    -- Null for the chain's native coin.
    address             text,
    symbol              text NOT NULL,
    name                text,
    category            text NOT NULL,
    tags                text[] NOT NULL,
    underlying          text,
    dependency_chain    text[] NOT NULL,
    lockup_days         integer NOT NULL CHECK (lockup_days >= 0),
    attestation_cadence text,
    source              text NOT NULL,
    observed_at         timestamptz NOT NULL,
    content_hash        bytea NOT NULL
);
-- A vault finds its deposit asset by this. Not unique: a registry may know one contract under two names.
CREATE INDEX asset_by_deployment ON asset (chain_id, address);

-- Reviews replace each other whole; the newest one counts.
CREATE TABLE asset_version (
    asset_id         text NOT NULL REFERENCES asset,
    observed_at      timestamptz NOT NULL,
    review_status    text NOT NULL CHECK (review_status IN ('reviewed', 'provisional', 'unreviewed')),
    -- {dimension: milli-points or null}
    dimensions       jsonb NOT NULL,
    -- Percentages that sum to about 100.
    backing_profile  jsonb,
    -- [{flag, transition, at}], every raising and clearing so far.
    hard_fail_events jsonb NOT NULL,
    -- [{flag, preparer, approver, reason, expires_at}]: people's decisions that a flag shall not cap for a while.
    hard_fail_overrides jsonb NOT NULL,
    last_refresh_at  timestamptz,
    reviewed_by      text,
    reviewer         text,
    source           text NOT NULL,
    content_hash     bytea NOT NULL,
    PRIMARY KEY (asset_id, observed_at)
);

-- What the methodology makes of the newest version. No dwell: an approved review publishes at once.
CREATE TABLE asset_score (
    asset_id        text PRIMARY KEY REFERENCES asset,
    score           integer CHECK (score BETWEEN 0 AND 10000),
    tier            text,
    -- Active and cooling-down flags in the methodology's order, and the lowest of their caps.
    hard_fail_flags text[] NOT NULL,
    hard_fail_cap   integer,
    -- The published breakdown; null for an unscored asset.
    breakdown       json,
    updated_at      timestamptz NOT NULL,
    CONSTRAINT asset_tier_is_that_of_its_score CHECK (
        tier IS NOT DISTINCT FROM CASE WHEN score >= 8000 THEN 'Prime' WHEN score >= 5000 THEN 'Core' WHEN score >= 0 THEN 'Edge' END
    )
);
