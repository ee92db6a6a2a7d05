-- What left the service: one row for every operation that subscribers are told of, as it read at that instant.
--
-- A producer appends its row in the transaction that makes the change, takes no lock and numbers nothing: whoever delivers
-- gives the rows their place, by the transactions that became visible. So a row is never changed, and rows go only with
-- the partition they are in: one an hour, dropped when the hour has left the window.

CREATE TABLE push_operation (
    -- Within one transaction, and between two of which one began after the other ended, in the order of the operations.
    id          bigint GENERATED ALWAYS AS IDENTITY (CACHE 1),
    xid         xid8 NOT NULL DEFAULT pg_current_xact_id(),
    recorded_at timestamptz NOT NULL,
    -- Whom webhooks deliver it to; null is for the stream alone.
    family      text CHECK (family IN ('event.published', 'event.retracted', 'rating.changed', 'security_event.published')),
    -- The stream's frame; null is not for the stream.
    stream_op   text CHECK (stream_op IN ('published', 'promoted', 'retracted')),
    event_id    text NOT NULL,
    -- What it concerns: the vaults and chains that a subscriber may ask for.
    vault_ids   text[] NOT NULL,
    chain_ids   bigint[] NOT NULL,
    -- JSON: the row as the API served it then.
    body        bytea NOT NULL,
    PRIMARY KEY (id, recorded_at),
    CONSTRAINT an_operation_is_for_somebody CHECK (num_nonnulls(family, stream_op) > 0)
) PARTITION BY RANGE (recorded_at);
CREATE INDEX push_operation_by_xid ON push_operation (xid);

-- Takes what is recorded in an hour that nobody has made a partition for: a producer is never refused for that.
CREATE TABLE push_operation_other PARTITION OF push_operation DEFAULT;

-- A restore into another cluster gives transactions new numbers, and what was journalled under the old ones is told so
-- (see journal.sql). Nothing else about a row ever changes.
CREATE FUNCTION an_operation_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND (OLD.id, OLD.recorded_at, OLD.family, OLD.stream_op, OLD.event_id, OLD.vault_ids, OLD.chain_ids, OLD.body)
            IS NOT DISTINCT FROM
            (NEW.id, NEW.recorded_at, NEW.family, NEW.stream_op, NEW.event_id, NEW.vault_ids, NEW.chain_ids, NEW.body) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'push operation % is final', OLD.id USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER an_operation_is_final BEFORE UPDATE OR DELETE ON push_operation
    FOR EACH ROW EXECUTE FUNCTION an_operation_is_final();
