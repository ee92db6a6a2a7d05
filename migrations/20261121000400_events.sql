-- Events: what happened, how far it is published, and the vaults and protocols that it concerns.

CREATE TABLE event (
    -- The first 53 bits of the key's digest: the same number whoever writes first, and exact as a JSON number.
    id                 bigint PRIMARY KEY,
    event_key          text NOT NULL UNIQUE,
    event_type         text NOT NULL,
    severity           text NOT NULL CHECK (severity IN ('Critical', 'Warning', 'Info')),
    incident_severity  text CHECK (incident_severity IN ('minor', 'major')),
    title              text NOT NULL,
    description        text,
    occurred_at        timestamptz NOT NULL,
    loss_usd           double precision,
    returned_usd       double precision,
    remediation_status text CHECK (remediation_status IN ('resolved', 'unresolved')),
    tx_hash            text,
    block_number       bigint,
    -- [{label, url}]
    links              jsonb NOT NULL,
    -- What repeats of one underlying event share; null is an event that stands alone.
    group_key          text,
    -- 'protocol' is everything that no vault is named for: a protocol's, a market's, a chain's.
    scope              text NOT NULL CHECK (scope IN ('vault', 'protocol')),
    -- Whose it is, where the source says so itself; else that follows from the links.
    protocol_id        text REFERENCES protocol,
    chain_id           bigint REFERENCES chain,
    curator_id         text REFERENCES curator,
    -- "{chain_id}:{address}" of the market it is about.
    market             text,
    -- Metrics that belong to the type of event.
    data               jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(data) = 'object'),
    -- A reading of the protocol, not a judgement about it.
    is_telemetry       boolean NOT NULL DEFAULT false,
    -- Written by the publication alone; observations leave it as it is.
    state              text NOT NULL DEFAULT 'draft' CHECK (state IN ('draft', 'published', 'retracted')),
    published_at       timestamptz,
    promoted_at        timestamptz,
    retracted_at       timestamptz,
    retracted_reason   text,
    source             text NOT NULL,
    observed_at        timestamptz NOT NULL,
    content_hash       bytea NOT NULL,
    CONSTRAINT the_state_has_its_instants CHECK (
        (state = 'draft') = (published_at IS NULL)
        AND (state = 'retracted') = (retracted_at IS NOT NULL)
        AND (promoted_at IS NULL OR state = 'published')
        AND (retracted_reason IS NULL OR state = 'retracted')
    )
);
CREATE INDEX event_by_group ON event (group_key) WHERE group_key IS NOT NULL;
CREATE INDEX event_by_market ON event (market, occurred_at DESC, id DESC) WHERE market IS NOT NULL;
CREATE INDEX event_by_chain ON event (chain_id) WHERE chain_id IS NOT NULL;

CREATE TABLE event_link (
    event_id               bigint NOT NULL REFERENCES event,
    scope                  text NOT NULL CHECK (scope IN ('vault', 'protocol')),
    subject_id             text NOT NULL,
    -- Whether an incident of a protocol counts against every vault of it.
    affects_protocol_score boolean NOT NULL,
    source                 text NOT NULL,
    observed_at            timestamptz NOT NULL,
    content_hash           bytea NOT NULL,
    PRIMARY KEY (event_id, scope, subject_id)
);
CREATE INDEX event_link_by_subject ON event_link (scope, subject_id);
