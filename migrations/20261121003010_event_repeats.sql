-- The other public occurrences of the groups in event_feed: a filter finds a group by any of them, not only by the newest.
--
-- What is here is public and is not its group's row in event_feed. The triggers see to that whichever release writes: one that does not
-- know this table can only leave occurrences out of it, until they are observed again.
CREATE TABLE event_repeat (
    event_id           bigint PRIMARY KEY REFERENCES event,
    group_key          text NOT NULL,
    occurred_at        timestamptz NOT NULL,
    -- As in event_feed.
    event_type         text NOT NULL,
    source             text NOT NULL,
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
    search             tsvector NOT NULL
);
CREATE INDEX event_repeat_by_group ON event_repeat (group_key, occurred_at, event_id);
CREATE INDEX event_repeat_by_time ON event_repeat (occurred_at, event_id);
CREATE INDEX event_repeat_by_severity ON event_repeat (severity_rank, occurred_at, event_id);
CREATE INDEX event_repeat_by_loss ON event_repeat (loss_usd DESC NULLS LAST, occurred_at DESC, event_id DESC);
CREATE INDEX event_repeat_by_loss_rising ON event_repeat (loss_usd, occurred_at, event_id);
CREATE INDEX event_repeat_by_type ON event_repeat (event_type, occurred_at, event_id);
CREATE INDEX event_repeat_by_incident_severity ON event_repeat (incident_severity, occurred_at, event_id) WHERE incident_severity IS NOT NULL;
CREATE INDEX event_repeat_by_remediation ON event_repeat (remediation_status, occurred_at, event_id) WHERE remediation_status IS NOT NULL;
CREATE INDEX event_repeat_by_search ON event_repeat USING gin (search) WITH (fastupdate = off);
CREATE INDEX event_repeat_by_protocol ON event_repeat USING gin (protocol_ids) WITH (fastupdate = off);
CREATE INDEX event_repeat_by_curator ON event_repeat USING gin (curator_ids) WITH (fastupdate = off);
CREATE INDEX event_repeat_by_chain ON event_repeat USING gin (chain_ids) WITH (fastupdate = off);

-- Repeats with the count of their group. A subquery and no join, so that a look-up by id, group or instant reaches the table's indexes.
CREATE VIEW event_repeat_counted AS
SELECT event_id, group_key, coalesce((SELECT f.occurrence_count FROM event_feed f WHERE f.group_key = r.group_key), 1) AS occurrence_count,
       occurred_at, event_type, source, severity_rank, incident_severity, remediation_status, loss_usd,
       protocol_id, chain_id, curator_id, protocol_ids, chain_ids, curator_ids, search
FROM event_repeat r;

-- Every occurrence that a filter looks at.
CREATE VIEW event_occurrence AS
SELECT event_id, group_key, occurrence_count, occurred_at, event_type, source, severity_rank, incident_severity, remediation_status, loss_usd,
       protocol_id, chain_id, curator_id, protocol_ids, chain_ids, curator_ids, search
FROM event_feed
UNION ALL
SELECT * FROM event_repeat_counted;

INSERT INTO event_repeat
SELECT e.id, e.group_key, e.occurred_at, lower(e.event_type), lower(e.source),
       CASE e.severity WHEN 'Critical' THEN 3 WHEN 'Warning' THEN 2 ELSE 1 END, e.incident_severity, e.remediation_status, e.loss_usd,
       p.protocol_id, p.chain_id, p.curator_id, p.protocol_ids, p.chain_ids, p.curator_ids,
       to_tsvector('event_words', e.title || ' ' || coalesce(e.description, ''))
FROM event_feed f JOIN event e ON e.group_key = f.group_key AND e.id <> f.event_id AND e.state = 'published'
CROSS JOIN LATERAL (SELECT * FROM event_place p WHERE p.event_id = e.id OFFSET 0) AS p
WHERE p.is_served;

CREATE FUNCTION event_repeat_of_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM event_repeat WHERE event_id = NEW.id;
    RETURN NULL;
END $$;
-- An event that changed is written again by whoever changed it.
CREATE TRIGGER a_changed_event_is_no_repeat AFTER UPDATE OF state, content_hash ON event FOR EACH ROW EXECUTE FUNCTION event_repeat_of_event();

CREATE FUNCTION event_repeat_of_feed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM event_repeat WHERE event_id = NEW.event_id;
    RETURN NULL;
END $$;
CREATE TRIGGER what_stands_for_a_group_is_no_repeat AFTER INSERT ON event_feed FOR EACH ROW EXECUTE FUNCTION event_repeat_of_feed();

CREATE FUNCTION event_repeat_of_chain() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM event_repeat WHERE chain_ids @> ARRAY[NEW.chain_id];
    RETURN NULL;
END $$;
CREATE TRIGGER repeats_of_a_withheld_chain_go AFTER UPDATE OF is_served ON chain FOR EACH ROW
    WHEN (OLD.is_served IS DISTINCT FROM NEW.is_served) EXECUTE FUNCTION event_repeat_of_chain();
