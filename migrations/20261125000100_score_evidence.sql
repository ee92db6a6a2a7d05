-- Answers about protocols and vaults, signatures on sets of answers, derived exposures, and what each score rests on.

-- What one source shows about one input of a protocol or of one vault.
CREATE TABLE protocol_answer (
    -- Id of a protocol, or of a vault if the answer concerns that vault alone. Ingest checks that it exists.
    subject        text NOT NULL,
    input          text NOT NULL,
    value          jsonb NOT NULL,
    -- When the source showed it.
    as_of          timestamptz NOT NULL,
    source_title   text NOT NULL,
    source_url     text NOT NULL,
    source_kind    text NOT NULL,
    note           text,
    -- As in asset_answer: a withdrawn answer stays.
    withdrawn      boolean NOT NULL,
    rubric_version text NOT NULL,
    source         text NOT NULL,
    observed_at    timestamptz NOT NULL,
    content_hash   bytea NOT NULL,
    PRIMARY KEY (subject, input, value, as_of, source_url)
);

-- A reviewer's signature on the set of answers about one asset.
CREATE TABLE answer_attestation (
    asset_id     text NOT NULL REFERENCES asset,
    reviewer_id  text NOT NULL REFERENCES reviewer,
    key_id       text NOT NULL,
    -- SHA-256 of the canonical set, in hex. The set itself is computed from asset_answer, so a later answer makes the signature void.
    answers_hash text NOT NULL,
    signed_at    timestamptz NOT NULL,
    signature    text NOT NULL,
    source       text NOT NULL,
    observed_at  timestamptz NOT NULL,
    content_hash bytea NOT NULL,
    PRIMARY KEY (asset_id, reviewer_id, answers_hash)
);

-- How exposures were derived: {rule, source_title, source_url, source_kind}. Null for exposures that were read.
ALTER TABLE exposure ADD COLUMN basis jsonb;

-- What the score rests on, and its range in milli-points. Null until the first run that computes them.
ALTER TABLE vault_score
    ADD COLUMN basis    text,
    -- Parts per million of the weight whose inputs are known.
    ADD COLUMN coverage integer,
    ADD COLUMN lowest   integer,
    ADD COLUMN highest  integer;

ALTER TABLE asset_score
    ADD COLUMN basis           text,
    ADD COLUMN coverage        integer,
    ADD COLUMN lowest          integer,
    ADD COLUMN highest         integer,
    -- The values that the score counts, {dimension: milli-points}: of the review or from answers.
    ADD COLUMN dimensions      jsonb,
    ADD COLUMN review_status   text,
    -- Age and cadence of the evidence.
    ADD COLUMN refreshed_at    timestamptz,
    ADD COLUMN cadence_seconds bigint;

-- The members of a set may be known without their shares.
ALTER TABLE exposure DROP CONSTRAINT exposure_status_check;
ALTER TABLE exposure ADD CONSTRAINT exposure_status_check CHECK (status IN ('observed', 'shares_unknown', 'unavailable'));
