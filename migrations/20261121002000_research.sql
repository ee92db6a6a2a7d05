-- Research: what the service says about its own scores, the rows that follows from, and what it wrote down beforehand.

insert into data_tag (tag, version) values ('research', (extract(epoch from clock_timestamp()) * 1000)::bigint);

-- One run at a time: its row is written first, under a lock that the next run waits for.
create table research_run (
    id             bigint generated always as identity primary key,
    ran_at         timestamptz not null,
    model_version  text not null,
    -- The chains that were served then, ascending: what a run says is about these alone.
    chain_ids      bigint[] not null
);

-- A document: written once, then never changed. A newer one of the same key takes its place in the lists.
create table research_record (
    id                text primary key,
    kind              text not null check (kind in ('validation_report', 'claim', 'source', 'backtest', 'model_health')),
    -- What it is about, within its kind.
    record_key        text not null,
    run_id            bigint not null references research_run,
    model_version     text,
    -- Of claims.
    level             text check (level in ('public', 'beta')),
    surface           text,
    -- Of backtests.
    outcome           text,
    body              jsonb not null check (jsonb_typeof(body) = 'object'),
    -- Of the body: what says the same again is not written again.
    content_hash      bytea not null,
    made_at           timestamptz not null,
    -- Its chains: a record is kept back while one of them is withheld, for its figures cannot be taken apart.
    chain_ids         bigint[] not null,
    -- What its gate found lacking.
    unmet             text[] not null,
    promoted_at       timestamptz,
    -- An operator's word, over and above the gate.
    is_client_visible boolean not null default true,
    hidden_reason     text,
    superseded_at     timestamptz,
    constraint only_what_passes_its_gate_is_promoted check (promoted_at is null or unmet = '{}'),
    constraint a_claim_has_level_and_surface check ((kind = 'claim') = (level is not null and surface is not null))
);
create index research_record_listed on research_record (kind, made_at desc, id) where superseded_at is null;
create unique index research_record_current on research_record (kind, record_key)
    where superseded_at is null and kind <> 'model_health';

-- What the newest backtests are made of: one vault at one instant, with what was known then and what came after.
create table research_sample (
    signal       text not null,
    horizon_days integer not null,
    as_of        timestamptz not null,
    vault_id     text not null references vault,
    value        integer not null check (value between 0 and 10000),
    -- Null where the window was not watched well enough to say.
    price_loss   boolean,
    drawdown_bp  bigint,
    incident     boolean not null,
    primary key (signal, horizon_days, as_of, vault_id)
);

-- A score, written down before its window began. Only what became of it is filled in, once.
create table research_prediction (
    vault_id          text not null references vault,
    horizon_days      integer not null check (horizon_days > 0),
    made_at           timestamptz not null,
    due_at            timestamptz not null,
    model_version     text not null,
    score             integer not null check (score between 0 and 10000),
    tier              text not null,
    -- The last price before the window, and when it was read: what a fall is measured from.
    base_price        double precision not null check (base_price > 0),
    base_at           timestamptz not null,
    outcome           text not null default 'pending' check (outcome in ('pending', 'loss', 'no_loss', 'unobserved')),
    drawdown_bp       bigint,
    resolved_at       timestamptz,
    is_client_visible boolean not null default true,
    primary key (vault_id, horizon_days, made_at),
    constraint it_stands_before_its_window check (base_at <= made_at and made_at < due_at),
    constraint what_became_of_it_has_an_instant check ((outcome = 'pending') = (resolved_at is null))
);
create index research_prediction_listed on research_prediction (made_at desc, vault_id, horizon_days);
create index research_prediction_open on research_prediction (due_at) where outcome = 'pending';

create function research_record_is_kept() returns trigger language plpgsql as $$
begin
    if (old.kind, old.record_key, old.body, old.content_hash, old.made_at, old.chain_ids, old.unmet)
       is distinct from (new.kind, new.record_key, new.body, new.content_hash, new.made_at, new.chain_ids, new.unmet) then
        raise exception 'a research record is never changed';
    end if;
    return new;
end $$;
create trigger research_record_is_kept before update on research_record
    for each row execute function research_record_is_kept();

create function research_prediction_is_kept() returns trigger language plpgsql as $$
begin
    if (old.due_at, old.model_version, old.score, old.tier, old.base_price, old.base_at)
       is distinct from (new.due_at, new.model_version, new.score, new.tier, new.base_price, new.base_at)
       or (old.outcome <> 'pending' and (old.outcome, old.drawdown_bp, old.resolved_at)
           is distinct from (new.outcome, new.drawdown_bp, new.resolved_at)) then
        raise exception 'a prediction is never changed, and resolved once';
    end if;
    return new;
end $$;
create trigger research_prediction_is_kept before update on research_prediction
    for each row execute function research_prediction_is_kept();
