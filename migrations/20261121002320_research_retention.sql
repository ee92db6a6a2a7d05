-- What research wrote down stays as it was in every column but those that are named here, and is never taken away.

create or replace function research_record_is_kept() returns trigger language plpgsql as $$
declare
    -- A newer record takes its place in the lists, and an operator shows or hides it.
    may_change constant text[] := array['superseded_at', 'is_client_visible', 'hidden_reason'];
begin
    if tg_op = 'DELETE' or to_jsonb(old) - may_change is distinct from to_jsonb(new) - may_change then
        raise exception 'a research record is never changed, nor taken away';
    end if;
    return new;
end $$;
drop trigger research_record_is_kept on research_record;
create trigger research_record_is_kept before update or delete on research_record
    for each row execute function research_record_is_kept();

create or replace function research_prediction_is_kept() returns trigger language plpgsql as $$
declare
    -- An operator shows or hides it; what became of it is filled in once.
    may_change text[] := array['is_client_visible'];
begin
    if old.outcome = 'pending' then
        may_change := may_change || array['outcome', 'drawdown_bp', 'resolved_at'];
    end if;
    if tg_op = 'DELETE' or to_jsonb(old) - may_change is distinct from to_jsonb(new) - may_change then
        raise exception 'a prediction is never changed, nor taken away, and resolved once';
    end if;
    return new;
end $$;
drop trigger research_prediction_is_kept on research_prediction;
create trigger research_prediction_is_kept before update or delete on research_prediction
    for each row execute function research_prediction_is_kept();
