-- The first deliveries of an event that the process which fanned it out makes at once, in one row for all of them.
--
-- A delivery to an endpoint that answers is over within a moment. It becomes a row of webhook_delivery with its result, instead of a pending row
-- and a lease that are both changed right afterwards. If the process dies, the lease ends, and the rest become pending rows.
CREATE TABLE webhook_event_lease (
    event         bigint PRIMARY KEY,
    token         bigint NOT NULL,
    -- Ids of the deliveries without a result, and their subscriptions.
    deliveries    bigint[] NOT NULL,
    subscriptions bigint[] NOT NULL,
    -- By the service's clock: when the event was fanned out.
    due           timestamptz NOT NULL,
    -- By the database's clock.
    until         timestamptz NOT NULL
) WITH (toast_tuple_target = 8160);
