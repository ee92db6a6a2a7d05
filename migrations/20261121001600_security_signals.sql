-- The security registry with its publication, the casebook of losses, and risk signals.
--
-- Money that has to add up is numeric(16,2): dollars, exact to the cent.

-- An attack as a source reports it, and how far it has come here. What an observation fills stands before `state`; what
-- stands behind it is written by the service alone, so that a newer observation of the row leaves it as it is.
CREATE TABLE security_event (
    -- The first 53 bits of the digest of source and source_id: the same number whoever writes first.
    id                       bigint PRIMARY KEY,
    source_id                text NOT NULL,
    chain_id                 bigint REFERENCES chain,
    protocol_id              text REFERENCES protocol,
    title                    text NOT NULL,
    description              text,
    attackers                text[] NOT NULL,
    victims                  text[] NOT NULL,
    confirmations            integer NOT NULL CHECK (confirmations >= 0),
    disconfirmations         integer NOT NULL CHECK (disconfirmations >= 0),
    loss_usd                 numeric(16, 2) CHECK (loss_usd >= 0),
    severity                 text NOT NULL CHECK (severity IN ('Critical', 'Warning', 'Info')),
    tx_hash                  text,
    native_url               text,
    -- [{label, url}]
    links                    jsonb NOT NULL,
    attacked_at              timestamptz NOT NULL,
    state                    text NOT NULL DEFAULT 'draft'
                             CHECK (state IN ('draft', 'published', 'dismissed', 'retracted', 'removed', 'purged')),
    state_changed_at         timestamptz,
    state_reason             text,
    published_by             text CHECK (published_by IN ('admin', 'auto')),
    published_at             timestamptz,
    -- Whether a victim stands where a tracked vault, asset, market or reserve does, or the row names a tracked protocol.
    affects_tracked_universe boolean NOT NULL DEFAULT false,
    promoted_event_id        bigint REFERENCES event,
    source                   text NOT NULL,
    observed_at              timestamptz NOT NULL,
    content_hash             bytea NOT NULL,
    UNIQUE (source, source_id),
    CONSTRAINT who_published_is_known CHECK (state <> 'published' OR num_nonnulls(published_by, published_at) = 2)
);
CREATE INDEX security_event_drafts ON security_event (attacked_at, id) WHERE state = 'draft';

-- A case of a casebook: what an attack cost, and how firmly that stands.
CREATE TABLE loss_case (
    case_id            text PRIMARY KEY,
    source_id          text NOT NULL,
    title              text NOT NULL,
    loss_usd           numeric(16, 2) CHECK (loss_usd >= 0),
    returned_usd       numeric(16, 2) CHECK (returned_usd >= 0),
    loss_text          text,
    loss_basis         text NOT NULL CHECK (loss_basis IN ('stated', 'unit_assumed', 'partial', 'doubtful', 'not_stated')),
    note               text,
    -- The casebook's own label, as it writes it.
    severity           text,
    classification     text,
    technique          text,
    mechanism          text,
    -- The first is the one that the board shows.
    chain_ids          bigint[] NOT NULL,
    protocol_id        text REFERENCES protocol,
    protocol_name      text,
    attacked_at        timestamptz NOT NULL,
    tx_hashes          text[] NOT NULL,
    links              jsonb NOT NULL,
    -- False once the casebook no longer lists it.
    is_active          boolean NOT NULL,
    -- {reason, verified_by}: the figure belongs to something else; only a person's word takes the case off the board.
    contamination      jsonb,
    -- The registry row of the same attack, whether it is there yet or not.
    security_source    text,
    security_source_id text,
    source             text NOT NULL,
    observed_at        timestamptz NOT NULL,
    content_hash       bytea NOT NULL,
    CONSTRAINT a_doubtful_figure_is_none CHECK (loss_basis NOT IN ('doubtful', 'not_stated') OR loss_usd IS NULL)
);
CREATE INDEX loss_case_by_registry_row ON loss_case (security_source, security_source_id);

CREATE TABLE signal (
    -- The first 53 bits of the key's digest.
    id                   bigint PRIMARY KEY,
    signal_key           text NOT NULL UNIQUE,
    title                text NOT NULL,
    url                  text,
    severity             text NOT NULL CHECK (severity IN ('Info', 'Watch', 'RiskChange', 'PolicyBreach')),
    severity_reason      text,
    significance         double precision NOT NULL CHECK (significance BETWEEN 0 AND 1),
    category             text NOT NULL,
    summary              text,
    -- [{kind, id, label}]
    entities             jsonb NOT NULL,
    -- What the source itself computed; null leaves it to the service.
    given_vaults         jsonb,
    given_exposure_usd   numeric(18, 2) CHECK (given_exposure_usd >= 0),
    breach_count         integer NOT NULL CHECK (breach_count >= 0),
    methodology_version  text,
    source_url           text,
    article_urls         text[] NOT NULL,
    snapshot_id          text,
    -- Lower-cased ids of the entities, each alone and with its kind: what they are found by.
    entity_words         text[] NOT NULL,
    -- Chains that the entities' own ids name by number: a signal about a withheld chain is withheld.
    chain_ids            bigint[] NOT NULL,
    published_at         timestamptz NOT NULL,
    -- Over the vaults of served chains.
    affected_vault_count bigint NOT NULL DEFAULT 0,
    exposure_usd         numeric(18, 2) NOT NULL DEFAULT 0,
    source               text NOT NULL,
    observed_at          timestamptz NOT NULL,
    content_hash         bytea NOT NULL
);
CREATE INDEX signal_by_time ON signal (published_at, id);
CREATE INDEX signal_by_entity ON signal USING gin (entity_words);

-- The vaults that a signal touches, as of the observation that told of it.
CREATE TABLE signal_vault (
    signal_id    bigint NOT NULL REFERENCES signal,
    vault_id     text NOT NULL REFERENCES vault,
    exposure_usd numeric(16, 2) CHECK (exposure_usd >= 0),
    -- Parts per million of the vault's value.
    share_ppm    integer NOT NULL CHECK (share_ppm BETWEEN 0 AND 1000000),
    -- `kind:id` of the entities that lead to it.
    via          text[] NOT NULL,
    PRIMARY KEY (signal_id, vault_id)
);
CREATE INDEX signal_vault_by_vault ON signal_vault (vault_id);
