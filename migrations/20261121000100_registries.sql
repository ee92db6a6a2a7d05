-- The registries: chains, protocols, curators.
--
-- Every table of observed facts ends in the same three columns. They decide which of two observations of one subject is
-- the truth: the later `observed_at`, and between two of one instant the greater `content_hash`. So the rows do not
-- depend on who writes first. Scores are integers in thousandths of a point ("milli-points"), money is US dollars, rates
-- are fractions, null is "not observed".

CREATE TABLE chain (
    chain_id                 bigint PRIMARY KEY CHECK (chain_id > 0),
    slug                     text NOT NULL UNIQUE,
    name                     text NOT NULL,
    namespace                text NOT NULL CHECK (namespace IN ('evm', 'svm')),
    native_symbol            text,
    explorer_url             text,
    block_time_seconds       double precision,
    -- A settlement layer takes no chain overlay; its sub-scores stay null.
    is_settlement            boolean NOT NULL,
    bridge_centralization    integer CHECK (bridge_centralization BETWEEN 0 AND 10000),
    sequencer_centralization integer CHECK (sequencer_centralization BETWEEN 0 AND 10000),
    validator_set_size_score integer CHECK (validator_set_size_score BETWEEN 0 AND 10000),
    chain_age_score          integer CHECK (chain_age_score BETWEEN 0 AND 10000),
    rationale                text,
    source                   text NOT NULL,
    observed_at              timestamptz NOT NULL,
    content_hash             bytea NOT NULL
);

CREATE TABLE protocol (
    id                   text PRIMARY KEY,
    name                 text NOT NULL,
    logo_url             text,
    website_url          text,
    app_url              text,
    documentation_url    text,
    github_url           text,
    twitter_url          text,
    launched_at          timestamptz,
    version              text,
    version_deployed_at  timestamptz,
    audits               integer CHECK (audits >= 0),
    newest_audit_at      timestamptz,
    auditors             text[] NOT NULL,
    audit_report_url     text,
    bounty_usd           double precision CHECK (bounty_usd >= 0),
    tvl_usd              double precision CHECK (tvl_usd >= 0),
    strategy             text,
    -- Null is unknown, an empty array is "depends on nobody".
    dependencies         text[],
    money_market         boolean NOT NULL,
    deposit_probe_wired  boolean NOT NULL,
    -- What a column above was derived from, by column.
    evidence             jsonb NOT NULL,
    source               text NOT NULL,
    observed_at          timestamptz NOT NULL,
    content_hash         bytea NOT NULL
);

CREATE TABLE curator (
    id           text PRIMARY KEY,
    name         text NOT NULL,
    one_liner    text,
    logo_url     text,
    website_url  text,
    twitter_url  text,
    canonical_id text,
    -- The earliest observation of the curator, whichever observation filled the row.
    created_at   timestamptz NOT NULL,
    source       text NOT NULL,
    observed_at  timestamptz NOT NULL,
    content_hash bytea NOT NULL
);
