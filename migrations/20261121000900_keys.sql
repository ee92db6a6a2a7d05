-- Credentials: organisations and their API keys, what the edge has to be told about them, what they used; and index tokens.
--
-- A credential is shown once, when it is minted. What is kept is the SHA-256 of its whole text, which finds the row and proves
-- the key in one look-up, and a prefix by which people recognise it. A revoked row stays, so that it can be listed.

create table organisation (
    id          bigint generated always as identity primary key,
    name        text not null unique check (name <> ''),
    -- What it pays for. A key has a plan of its own: alignment brings the two together.
    plan        text not null check (plan in ('data', 'decisioning', 'embedded')),
    created_at  timestamptz not null
);

-- Every change of a key gives it a greater number: of two records of a key the one with the greater number is the newer. The
-- numbers are microseconds at least, so that a database restored from a backup does not give out again what the edge has seen.
create function key_version_after(previous bigint) returns bigint language sql volatile as $$
    select greatest(previous + 1, floor(extract(epoch from clock_timestamp()) * 1000000)::bigint)
$$;

create table api_key (
    id              bigint generated always as identity primary key,
    org_id          bigint not null references organisation,
    prefix          text not null check (char_length(prefix) = 12),
    digest          bytea unique check (octet_length(digest) = 32),
    -- Of a key older than the digests: proves it once, and is gone when it has its digest.
    bcrypt_hash     text,
    plan            text not null check (plan in ('data', 'decisioning', 'embedded')),
    -- What was arranged for this key alone; contracted_rpm replaces the plan's requests per minute.
    metadata        jsonb not null default '{}' check (jsonb_typeof(metadata) = 'object'),
    contracted_rpm  integer generated always as ((metadata ->> 'contracted_rpm')::integer) stored check (contracted_rpm > 0),
    -- One key for several clients of its holder, each with a share of the limit.
    is_shared       boolean not null,
    version         bigint not null default key_version_after(0),
    created_at      timestamptz not null,
    last_used_at    timestamptz,
    revoked_at      timestamptz,
    constraint there_is_one_proof check (num_nonnulls(digest, bcrypt_hash) = 1)
);
create index api_key_org on api_key (org_id);
create index api_key_without_digest on api_key (prefix) where digest is null;

-- Nothing brings a revoked key back, whichever program writes.
create function a_revoked_key_stays_revoked() returns trigger language plpgsql as $$
begin
    raise exception 'API key % is revoked for good', old.id using errcode = 'integrity_constraint_violation';
end $$;
create trigger a_revoked_key_stays_revoked before update of revoked_at on api_key
    for each row when (old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at)
    execute function a_revoked_key_stays_revoked();

-- Keys whose latest change the edge has not acknowledged: one row a key, written with the change. What is sent is the key's
-- record at the time of sending, so several changes need one message.
create table edge_outbox (
    key_id          bigint primary key references api_key,
    -- The least version that has to be acknowledged.
    version         bigint not null,
    attempts        integer not null default 0,
    -- Nobody sends it before then (wall time): somebody is sending it, or has just failed to.
    not_before      timestamptz not null,
    -- Why the latest attempt failed; for operators.
    last_error      text
);

-- When a service that tells the edge was last at work: whoever changes a key without knowing the edge waits for it.
create table edge_teller (
    single          boolean primary key default true check (single),
    seen_at         timestamptz not null
);

-- When an edge last asked about a key: what it was told then it may act upon for a while.
create table edge_seen (
    single          boolean primary key default true check (single),
    seen_at         timestamptz not null
);

-- Requests served and throttled, as the edge counted them.
create table key_usage (
    key_id      bigint not null references api_key,
    day         date not null,
    -- The route, as `GET /v1/vaults/{id}`.
    endpoint    text not null,
    served      bigint not null check (served >= 0),
    throttled   bigint not null check (throttled >= 0),
    last_seen   timestamptz not null,
    primary key (key_id, day, endpoint)
);

-- The sums over all days, so that the days need not be kept for them.
create table key_usage_total (
    key_id      bigint primary key references api_key,
    served      bigint not null,
    throttled   bigint not null
);

-- Where counts come from, and how far each source has been applied: a batch that is sent again changes nothing.
create table usage_source (
    key_id          bigint not null references api_key,
    source          text not null,
    last_sequence   bigint not null,
    -- Everything before this instant is counted.
    through         timestamptz not null,
    primary key (key_id, source)
);

-- Opens the private index and rate routes, and nothing else.
create table index_token (
    id          bigint generated always as identity primary key,
    org         text not null check (org <> ''),
    prefix      text not null check (char_length(prefix) = 12),
    digest      bytea not null unique check (octet_length(digest) = 32),
    created_at  timestamptz not null,
    revoked_at  timestamptz
);
