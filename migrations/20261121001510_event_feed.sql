-- The feed: where events belong, which of them is shown for its group, and what the service compares the next reading with.

-- A chain that is not served is withheld: nothing on it is listed, shown or told.
ALTER TABLE chain ADD COLUMN is_served boolean NOT NULL DEFAULT true;

-- The vaults that an event touches: those it names, and a protocol's where the event counts against them. One row a vault.
CREATE VIEW event_vault AS
SELECT l.event_id, v.id AS vault_id
FROM event_link l JOIN vault v ON v.id = l.subject_id JOIN chain c ON c.chain_id = v.chain_id AND c.is_served
WHERE l.scope = 'vault'
UNION
SELECT l.event_id, v.id
FROM event_link l JOIN vault v ON v.protocol_id = l.subject_id AND v.is_active JOIN chain c ON c.chain_id = v.chain_id AND c.is_served
WHERE l.scope = 'protocol' AND l.affects_protocol_score;

-- Whose an event is: its own word first, then its market's, then that of the first vault it names.
CREATE VIEW event_place AS
SELECT e.id AS event_id,
       coalesce(e.protocol_id, m.protocol_id, named.protocol_id, linked.protocol_ids[1]) AS protocol_id,
       coalesce(e.chain_id, m.chain_id, named.chain_id) AS chain_id,
       coalesce(e.curator_id, named.curator_id) AS curator_id,
       -- Everything it can be found by.
       array_remove(ARRAY[e.protocol_id, m.protocol_id], NULL) || named.protocol_ids || linked.protocol_ids AS protocol_ids,
       array_remove(ARRAY[e.chain_id, m.chain_id], NULL) || named.chain_ids AS chain_ids,
       array_remove(ARRAY[e.curator_id], NULL) || touched.curator_ids AS curator_ids,
       coalesce(own.is_served, named.vaults = 0 OR named.served > 0) AS is_served
FROM event e
LEFT JOIN market m ON m.contract = e.market
LEFT JOIN chain own ON own.chain_id = coalesce(e.chain_id, m.chain_id)
CROSS JOIN LATERAL (
    SELECT count(*) AS vaults, count(*) FILTER (WHERE c.is_served) AS served,
           (array_agg(v.protocol_id ORDER BY v.id COLLATE "C") FILTER (WHERE c.is_served))[1] AS protocol_id,
           (array_agg(v.chain_id ORDER BY v.id COLLATE "C") FILTER (WHERE c.is_served))[1] AS chain_id,
           (array_agg(v.curator_id ORDER BY v.id COLLATE "C") FILTER (WHERE c.is_served))[1] AS curator_id,
           coalesce(array_agg(DISTINCT v.protocol_id) FILTER (WHERE c.is_served), '{}') AS protocol_ids,
           coalesce(array_agg(DISTINCT v.chain_id) FILTER (WHERE c.is_served), '{}') AS chain_ids
    FROM event_link l JOIN vault v ON v.id = l.subject_id JOIN chain c ON c.chain_id = v.chain_id
    WHERE l.event_id = e.id AND l.scope = 'vault'
) AS named
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(l.subject_id ORDER BY l.subject_id COLLATE "C"), '{}') AS protocol_ids
    FROM event_link l WHERE l.event_id = e.id AND l.scope = 'protocol'
) AS linked
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(DISTINCT v.curator_id) FILTER (WHERE v.curator_id IS NOT NULL), '{}') AS curator_ids
    FROM event_vault t JOIN vault v ON v.id = t.vault_id WHERE t.event_id = e.id
) AS touched;

-- What the feed lists: the published events of served chains, one row a group, which is that of its newest event. Everything
-- that a filter or an order asks for stands here, so that a page is one walk along one index.
CREATE TABLE event_feed (
    event_id           bigint PRIMARY KEY REFERENCES event,
    group_key          text UNIQUE,
    occurrence_count   bigint NOT NULL CHECK (occurrence_count > 0),
    occurred_at        timestamptz NOT NULL,
    -- In lower case, as filters come.
    event_type         text NOT NULL,
    source             text NOT NULL,
    -- 3 is Critical.
    severity_rank      smallint NOT NULL CHECK (severity_rank BETWEEN 1 AND 3),
    incident_severity  text,
    remediation_status text,
    loss_usd           double precision,
    protocol_id        text,
    chain_id           bigint,
    curator_id         text,
    protocol_ids       text[] NOT NULL,
    chain_ids          bigint[] NOT NULL,
    curator_ids        text[] NOT NULL,
    -- Title and description twice: by stems, and word for word for names and for words that English skips.
    search             tsvector NOT NULL
);
CREATE INDEX event_feed_by_time ON event_feed (occurred_at, event_id);
CREATE INDEX event_feed_by_severity ON event_feed (severity_rank, occurred_at, event_id);
CREATE INDEX event_feed_by_type ON event_feed (event_type, occurred_at, event_id);
CREATE INDEX event_feed_by_search ON event_feed USING gin (search) WITH (fastupdate = off);
CREATE INDEX event_feed_by_protocol ON event_feed USING gin (protocol_ids) WITH (fastupdate = off);
CREATE INDEX event_feed_by_curator ON event_feed USING gin (curator_ids) WITH (fastupdate = off);
CREATE INDEX event_feed_by_chain ON event_feed USING gin (chain_ids) WITH (fastupdate = off);

-- What was last told of a subject: the next reading is compared with it, and one that is older says nothing new.
CREATE TABLE told (
    -- deposit_status | bad_debt | exposure | strategies
    topic       text NOT NULL,
    -- A vault's id, or a market's contract.
    subject_id  text NOT NULL,
    -- The word, the amount, or {part: parts per million}.
    value       jsonb NOT NULL,
    observed_at timestamptz NOT NULL,
    PRIMARY KEY (topic, subject_id)
);

-- Bad debt of a pair, as its protocol reports it.
ALTER TABLE market_state ADD COLUMN bad_debt_usd double precision CHECK (bad_debt_usd >= 0);
