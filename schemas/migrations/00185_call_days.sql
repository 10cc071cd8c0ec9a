-- +goose Up
-- What a workspace has used or reserved in a UTC day, for its daily limits. Adding up the calls of the day for each
-- call took the longer, the more calls there were. What was used stays used if its call is erased or removed.
create table call_days (
  workspace_id   bigint not null references workspaces,
  day            date not null,                         -- in UTC, of the latest attempt at a call
  tokens         bigint not null default 0,
  micros         bigint not null default 0,             -- micro-dollars
  removed_tokens bigint not null default 0,             -- part of tokens whose calls are erased or removed
  removed_micros bigint not null default 0,
  primary key (workspace_id, day)
);
alter table call_days enable row level security;
create policy call_days_app on call_days to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint);
create policy call_days_definer on call_days to cairn_owner using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint);
create policy call_days_system_see on call_days for select to cairn_system using (day < (now() at time zone 'UTC')::date - 7);
create policy call_days_system_purge on call_days for delete to cairn_system using (day < (now() at time zone 'UTC')::date - 7);
grant select on call_days to cairn_app;
grant select (workspace_id, day), delete on call_days to cairn_system;
insert into erase_rules (tbl, how, scope) values ('call_days', 'none', null); -- numbers of the workspace
select cairn.cover_erase();

-- Counts a change of a call at the end of its transaction, so that the rows are locked last and for a short time. A row
-- of the deployment has a part of the workspaces. Calls of a transaction are of one workspace, which it has not always
-- entered.
-- +goose StatementBegin
create or replace function cairn.count_spend() returns trigger
language plpgsql security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare
  entered text := coalesce(current_setting('cairn.workspace', true), '');
  old_day date; old_tokens bigint := 0; old_micros bigint := 0;
  new_day date; new_tokens bigint := 0; new_micros bigint := 0;
begin
  if tg_op <> 'INSERT' then
    old_day := (old.sent_at at time zone 'UTC')::date;
    old_tokens := old.input_tokens + old.output_tokens + old.reserved;
    old_micros := coalesce(old.cost_micros, 0) + old.reserved_micros;
  end if;
  perform set_config('cairn.workspace', coalesce(new.workspace_id, old.workspace_id)::text, true);
  if tg_op = 'DELETE' then
    -- a workspace that is erased has no row any more
    update call_days d set removed_tokens = d.removed_tokens + old_tokens, removed_micros = d.removed_micros + old_micros
    where d.workspace_id = old.workspace_id and d.day = old_day;
    perform set_config('cairn.workspace', entered, true);
    return null;
  end if;
  new_day := (new.sent_at at time zone 'UTC')::date;
  new_tokens := new.input_tokens + new.output_tokens + new.reserved;
  new_micros := coalesce(new.cost_micros, 0) + new.reserved_micros;
  if old_day <> new_day then
    update call_days d set tokens = d.tokens - old_tokens, micros = d.micros - old_micros
    where d.workspace_id = new.workspace_id and d.day = old_day;
    if old_micros <> 0 then
      update deployment_spend s set micros = s.micros - old_micros where s.day = old_day and s.part = new.workspace_id % 16;
    end if;
    old_tokens := 0;
    old_micros := 0;
  end if;
  if new_tokens <> old_tokens or new_micros <> old_micros then
    insert into call_days as d (workspace_id, day, tokens, micros) values (new.workspace_id, new_day, new_tokens - old_tokens, new_micros - old_micros)
    on conflict (workspace_id, day) do update set tokens = d.tokens + excluded.tokens, micros = d.micros + excluded.micros;
  end if;
  if new_micros <> old_micros then
    insert into deployment_spend as s (day, part, micros) values (new_day, new.workspace_id % 16, new_micros - old_micros)
    on conflict (day, part) do update set micros = s.micros + excluded.micros;
  end if;
  perform set_config('cairn.workspace', entered, true);
  return null;
end $$;
-- +goose StatementEnd

-- Reserves room for a call in the limits of the entered workspace and of the deployment; null is no limit. The result is
-- the limit without room: tokens, cost or deployment; empty if there is room. The row of the workspace stays locked until
-- the end of the transaction, which adds the reservation to it, so call it as late as possible.
--
-- Workspaces do not wait for each other while the deployment is far from its limit. A small call then needs no exact sum:
-- each other connection has at most one small call that is not committed yet, and together they fit below the limit, too.
-- Such calls share the lock of the deployment. Any other call holds it alone until its commit, so that its sum is exact.
-- +goose StatementBegin
create function cairn.reserve_call(add_tokens bigint, max_tokens bigint, add_micros bigint, max_micros bigint, max_deployment bigint) returns text
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare
  ws bigint := nullif(current_setting('cairn.workspace', true), '')::bigint;
  today date := (now() at time zone 'UTC')::date;
  others bigint := current_setting('max_connections')::bigint;
  small bigint := max_deployment / (4 * others);
  used call_days;
begin
  insert into call_days (workspace_id, day) values (ws, today) on conflict do nothing;
  select * into used from call_days d where d.workspace_id = ws and d.day = today for no key update;
  if max_tokens is not null and used.tokens + add_tokens > max_tokens then return 'tokens'; end if;
  if max_micros is not null and used.micros + add_micros > max_micros then return 'cost'; end if;
  if max_deployment is null then return ''; end if;
  if add_micros <= small and cairn.deployment_spend() + add_micros + others * small <= max_deployment then
    begin
      perform pg_advisory_xact_lock_shared(12, 0);
      if cairn.deployment_spend() + add_micros + others * small <= max_deployment then return ''; end if;
      raise exception 'too close to the limit' using errcode = 'CA001';
    exception when sqlstate 'CA001' then null;          -- which gives back the shared lock
    end;
  end if;
  perform pg_advisory_xact_lock(12, 0);
  return case when cairn.deployment_spend() + add_micros <= max_deployment then '' else 'deployment' end;
end $$;
-- +goose StatementEnd
revoke all on function cairn.reserve_call(bigint, bigint, bigint, bigint, bigint) from public;
grant execute on function cairn.reserve_call(bigint, bigint, bigint, bigint, bigint) to cairn_app;

drop trigger llm_calls_spend_new on llm_calls;
drop trigger llm_calls_spend_changed on llm_calls;
create constraint trigger llm_calls_spend_new after insert on llm_calls deferrable initially deferred
  for each row when (new.reserved <> 0 or new.input_tokens <> 0 or new.output_tokens <> 0 or new.reserved_micros <> 0 or new.cost_micros <> 0)
  execute function cairn.count_spend();
create constraint trigger llm_calls_spend_changed after update on llm_calls deferrable initially deferred
  for each row when ((old.reserved, old.input_tokens, old.output_tokens, old.reserved_micros, old.cost_micros, old.sent_at)
    is distinct from (new.reserved, new.input_tokens, new.output_tokens, new.reserved_micros, new.cost_micros, new.sent_at))
  execute function cairn.count_spend();
-- A call of an older day is in no sum that is still used.
create constraint trigger llm_calls_spend_removed after delete on llm_calls deferrable initially deferred
  for each row when (old.sent_at > now() - interval '3 days') execute function cairn.count_spend();

alter table llm_calls no force row level security;
insert into call_days (workspace_id, day, tokens, micros)
select workspace_id, (sent_at at time zone 'UTC')::date, sum(input_tokens + output_tokens + reserved), sum(coalesce(cost_micros, 0) + reserved_micros)
from llm_calls where sent_at > now() - interval '3 days' group by 1, 2;
alter table llm_calls force row level security;
alter table call_days force row level security;
