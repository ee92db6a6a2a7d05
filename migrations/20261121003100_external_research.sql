-- Research from elsewhere: what an operator's sources found about the scores, and what they foretold.

-- The newest word of a source about each of its records; every one that says something else than the one before leaves a research_record.
create table given_research (
    -- The record's kind, its source and its key.
    id             text primary key,
    observed_at    timestamptz not null,
    source         text not null,
    record         text not null check (record in ('validation_report', 'claim', 'backtest', 'model_health')),
    key            text not null,
    model_version  text not null,
    chain_ids      bigint[] not null,
    body           jsonb not null check (jsonb_typeof(body) = 'object'),
    content_hash   bytea not null
);

-- Who provided it; null for what a run of the service found.
alter table research_record alter column run_id drop not null, add column provided_by text;
alter table research_record
    add constraint a_run_found_it_or_somebody_provided_it check ((run_id is null) = (provided_by is not null));
alter table research_prediction add column provided_by text;
