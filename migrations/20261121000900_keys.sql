-- Credentials: API keys of organisations, and index tokens.
--
-- A credential is shown once, when it is minted. What is kept is the SHA-256 of its whole text, which finds the row and proves
-- the key in one look-up, and a prefix by which people recognise it. A revoked row stays, so that it can be listed.

create table organisation (
    id          bigint generated always as identity primary key,
    name        text not null unique check (name <> ''),
    created_at  timestamptz not null
);

create table api_key (
    id          bigint generated always as identity primary key,
    org_id      bigint not null references organisation,
    prefix      text not null,
    digest      bytea not null unique check (octet_length(digest) = 32),
    plan        text not null check (plan in ('data', 'decisioning', 'embedded')),
    -- Requests per minute by contract; null is the plan's default.
    rpm         integer check (rpm > 0),
    -- One key for several clients of its holder, each with a share of the limit.
    is_shared   boolean not null,
    created_at  timestamptz not null,
    revoked_at  timestamptz
);
create index api_key_org on api_key (org_id);

-- Opens the private index and rate routes, and nothing else.
create table index_token (
    id          bigint generated always as identity primary key,
    name        text not null check (name <> ''),
    prefix      text not null,
    digest      bytea not null unique check (octet_length(digest) = 32),
    created_at  timestamptz not null,
    revoked_at  timestamptz
);
