-- Fewer writes for each webhook delivery.
--
-- Foreign keys between events, subscriptions, deliveries, leases and attempts cost a lookup and a row lock for each new row, so
-- they are dropped. Triggers, once for each statement, delete what the foreign keys deleted in cascade. Only the deliveries of a removed
-- subscription, which may be millions, are deleted by the upkeep, in bounded steps.

ALTER TABLE webhook_delivery
    DROP CONSTRAINT webhook_delivery_subscription_id_fkey,
    DROP CONSTRAINT webhook_delivery_event_fkey;
ALTER TABLE webhook_lease DROP CONSTRAINT webhook_lease_delivery_id_fkey;
ALTER TABLE webhook_attempt DROP CONSTRAINT webhook_attempt_delivery_id_fkey;

-- One index finds the deliveries of an event and keeps each event and subscription unique.
CREATE UNIQUE INDEX webhook_delivery_of_event ON webhook_delivery (event, subscription_id);
ALTER TABLE webhook_delivery DROP CONSTRAINT webhook_delivery_subscription_id_event_key;
DROP INDEX webhook_delivery_by_event;

-- Removed subscriptions whose deliveries may still exist.
CREATE TABLE webhook_removed (
    subscription_id bigint PRIMARY KEY,
    -- By the database's clock. A fan-out that began before may still commit deliveries a moment after.
    removed_at      timestamptz NOT NULL
);

CREATE FUNCTION webhook_rows_of_subscriptions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Attempts in progress have no lease any more, so they are not recorded.
    DELETE FROM webhook_lease l USING gone WHERE l.subscription_id = gone.id;
    INSERT INTO webhook_removed (subscription_id, removed_at) SELECT id, clock_timestamp() FROM gone;
    RETURN NULL;
END $$;
CREATE TRIGGER removed AFTER DELETE ON webhook_subscription REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION webhook_rows_of_subscriptions();

CREATE FUNCTION webhook_rows_of_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM webhook_delivery d USING gone WHERE d.event = gone.id;
    RETURN NULL;
END $$;
CREATE TRIGGER removed AFTER DELETE ON webhook_event REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION webhook_rows_of_events();

CREATE FUNCTION webhook_rows_of_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM webhook_lease l USING gone WHERE l.delivery_id = gone.id;
    DELETE FROM webhook_attempt a USING gone WHERE a.delivery_id = gone.id;
    RETURN NULL;
END $$;
CREATE TRIGGER removed AFTER DELETE ON webhook_delivery REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION webhook_rows_of_deliveries();
