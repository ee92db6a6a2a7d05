-- Signed decisions, and who may sign them.
--
-- Only what a secret key has signed proves anything: the secret itself is never here.

-- The registry. A key signs from its activation to its retirement, once: a retired one does not come back, its holder makes
-- another. A retirement may only be moved to an earlier instant, as when it turns out since when a key was in other hands.
create table decision_signer (
    key_id       text primary key check (key_id ~ '^[A-Za-z0-9._-]{1,64}$'),
    -- Where its signatures lead: 0x and 40 lower-case hex characters.
    address      text not null unique check (address ~ '^0x[0-9a-f]{40}$'),
    -- Whole milliseconds, as the envelopes have it that they are compared with.
    activated_at timestamptz not null check (activated_at = date_trunc('milliseconds', activated_at)),
    retired_at   timestamptz check (retired_at = date_trunc('milliseconds', retired_at)),
    constraint retired_after_it_was_activated check (retired_at >= activated_at)
);

create function a_signer_keeps_its_word() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' or (new.key_id, new.address, new.activated_at) is distinct from (old.key_id, old.address, old.activated_at)
       or old.retired_at < coalesce(new.retired_at, 'infinity') then
        raise exception 'a signer is never removed, renamed or brought back' using errcode = 'integrity_constraint_violation';
    end if;
    return new;
end $$;
create trigger a_signer_keeps_its_word before update or delete on decision_signer
    for each row execute function a_signer_keeps_its_word();

-- An organisation's decisions. The same check has one, whoever of the processes signed it first.
create table decision (
    org_id      bigint not null references organisation,
    -- The hash of what was decided: all of the envelope, but who signed it and when.
    subject     text not null check (subject ~ '^[0-9a-f]{64}$'),
    -- The hash of the envelope. Not unique: two organisations that have the same checked by one key in one millisecond get the
    -- same decision.
    decision_id text not null check (decision_id ~ '^[0-9a-f]{64}$'),
    snapshot_id text not null references graph_snapshot,
    key_id      text not null references decision_signer,
    -- As it was hashed, byte for byte.
    envelope    text not null check (octet_length(envelope) <= 8192),
    signature   text not null check (signature ~ '^0x[0-9a-f]{130}$'),
    created_at  timestamptz not null,
    primary key (org_id, subject)
);
create index decision_by_id on decision (decision_id);

insert into data_tag (tag, version) values ('signers', (extract(epoch from clock_timestamp()) * 1000)::bigint);
