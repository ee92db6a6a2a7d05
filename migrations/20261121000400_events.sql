-- Events, and the vaults and protocols that they concern. Incidents are the first type of event.

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
    retracted_at       timestamptz,
    retracted_reason   text,
    source             text NOT NULL,
    observed_at        timestamptz NOT NULL,
    content_hash       bytea NOT NULL
);

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
