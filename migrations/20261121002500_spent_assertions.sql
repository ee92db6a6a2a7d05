-- Assertions of the edge that changed something, so that none does so twice, whichever process it is shown to.

-- Logged on purpose. An unlogged table is empty after a crash of the server and on a standby that is promoted, and an assertion lives
-- for a minute: a restart within that minute would let captured writes be repeated. Writes are few, so the log costs little.
create table spent_assertion (
    -- The 128 random bits of the assertion.
    nonce    bytea primary key check (length(nonce) = 16),
    spent_at timestamptz not null default clock_timestamp()
);

-- Those that no clock can take for alive any more go.
create index spent_assertion_by_age on spent_assertion (spent_at);
