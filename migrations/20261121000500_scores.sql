-- What is published of a vault, the runs that published it, and every change.

-- One number for "what is served": it grows by one in every transaction that changes anything a reader could see.
CREATE TABLE data_version (
    version bigint NOT NULL,
    single  boolean PRIMARY KEY DEFAULT true CHECK (single)
);
INSERT INTO data_version (version) VALUES (0);

-- What each version was made of. A batch that changes nothing makes no version and leaves no row.
CREATE TABLE ingest_batch (
    version     bigint PRIMARY KEY,
    accepted_at timestamptz NOT NULL,
    lines       bigint NOT NULL,
    -- {kind: rows changed}
    changed     jsonb NOT NULL
);

CREATE TABLE score_run (
    -- run-<version>
    id                  text PRIMARY KEY,
    version             bigint NOT NULL UNIQUE,
    scope               text NOT NULL CHECK (scope IN ('all', 'vaults')),
    methodology_version text NOT NULL,
    -- SHA-256 over the canonical inputs of all vaults of the run.
    input_hash          bytea NOT NULL,
    mode                text NOT NULL CHECK (mode IN ('normal', 'degraded', 'fail_closed')),
    vaults              bigint NOT NULL,
    changes             bigint NOT NULL,
    started_at          timestamptz NOT NULL,
    completed_at        timestamptz NOT NULL
);

CREATE TABLE vault_score (
    vault_id            text PRIMARY KEY REFERENCES vault,
    -- Published; null while unscored.
    score               integer CHECK (score BETWEEN 0 AND 10000),
    tier                text,
    -- What the next run judges by: the last score outside a dwell, and one clock per tier boundary.
    anchor              integer,
    core_above          boolean,
    core_since          timestamptz,
    prime_above         boolean,
    prime_since         timestamptz,
    -- The latest run's result before the dwell.
    raw                 integer,
    methodology_version text NOT NULL,
    -- Deferred: a run is recorded when its inputs are hashed, after its scores are written.
    run_id              text NOT NULL REFERENCES score_run DEFERRABLE INITIALLY DEFERRED,
    computed_at         timestamptz NOT NULL,
    -- Null until a first score was published.
    updated_at          timestamptz,
    vectors             json NOT NULL,
    -- Everything the score depends on. Holds an empty run id, filled in from this row when served, so that a run that
    -- confirms a score rewrites no document.
    provenance          json NOT NULL,
    -- Of the two documents.
    document_hash       bytea NOT NULL,
    -- The data version in which anything served of this vault last changed.
    changed_version     bigint NOT NULL,
    CONSTRAINT tier_is_that_of_its_score CHECK (
        tier IS NOT DISTINCT FROM CASE WHEN score >= 8000 THEN 'Prime' WHEN score >= 5000 THEN 'Core' WHEN score >= 0 THEN 'Edge' END
    ),
    CONSTRAINT dwell_state_is_whole CHECK (
        num_nulls(score, tier, anchor, core_above, core_since, prime_above, prime_since) IN (0, 7)
    )
);
CREATE INDEX vault_score_by_change ON vault_score (changed_version);

CREATE TABLE score_history (
    vault_id            text NOT NULL REFERENCES vault,
    observed_at         timestamptz NOT NULL,
    -- The run's version: at most one change a vault and run.
    version             bigint NOT NULL,
    change_type         text NOT NULL,
    prev_score          integer,
    new_score           integer,
    prev_tier           text,
    new_tier            text,
    methodology_version text NOT NULL,
    PRIMARY KEY (vault_id, observed_at, version)
);
