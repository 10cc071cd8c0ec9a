-- +goose Up
-- Retention of what shows how results came about: model calls, the details of runs, the log of
-- operations and the audit log. Conversations, memories and skills do not depend on it. The functions
-- work in all workspaces and return the number of rows, which is 0 when nothing is left. Open runs stay
-- whole.

alter table runs add column pruned text not null default '' check (pruned in ('', 'calls', 'all'));
create index runs_unpruned on runs (ended_at) where status = 'ended' and pruned <> 'all' and kind not in ('train', 'evolve', 'evaluate');
create index llm_calls_age on llm_calls (created_at);
create index request_parts_age on request_parts (used_on);
create index tool_op_log_age on tool_op_log (created_at);
create index audit_events_age on audit_events (at);

-- The functions run as cairn_prune, which cannot read requests, replies or messages.
create policy runs_prune on runs to cairn_prune using (true) with check (true);
create policy llm_calls_prune on llm_calls to cairn_prune using (true);
create policy request_parts_prune on request_parts to cairn_prune using (true);
create policy agent_steps_prune on agent_steps to cairn_prune using (true);
create policy agent_calls_prune on agent_calls to cairn_prune using (true);
create policy distill_files_prune on distill_files to cairn_prune using (true);
create policy distill_tasks_prune on distill_tasks to cairn_prune using (true) with check (true);
create policy tool_op_log_prune on tool_op_log to cairn_prune using (true);
create policy audit_events_prune_see on audit_events for select to cairn_prune using (true);
create policy audit_events_prune on audit_events for delete to cairn_prune using (true);

grant select (workspace_id, id, kind, status, ended_at, pruned, spec), update (pruned, spec, result) on runs to cairn_prune;
grant select (workspace_id, run_id, step, round, created_at), update (created_at), delete on llm_calls to cairn_prune;
grant select (workspace_id, conversation_id, sha256, used_on), update (used_on), delete on request_parts to cairn_prune;
grant select (workspace_id, run_id), delete on agent_steps, agent_calls, distill_files to cairn_prune;
grant select (workspace_id, run_id), update (draft, package, comparison, candidates) on distill_tasks to cairn_prune;
grant select (workspace_id, op_id, created_at), update (created_at), delete on tool_op_log to cairn_prune;
grant select (id, at), delete on audit_events to cairn_prune;

-- +goose StatementBegin
create function cairn.prune_calls(keep interval, most int) returns bigint
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare n bigint; parts bigint;
begin
  with old as (
    select c.workspace_id, c.run_id, c.step, c.round from llm_calls c where c.created_at < now() - keep
      and not exists (select from runs r where r.workspace_id = c.workspace_id and r.id = c.run_id and r.status <> 'ended')
    order by c.created_at limit most for update skip locked
  ), gone as (
    delete from llm_calls c using old where c.workspace_id = old.workspace_id and c.run_id = old.run_id and c.step = old.step and c.round = old.round
    returning c.workspace_id, c.run_id
  ), marked as (
    update runs r set pruned = 'calls' from (select distinct workspace_id, run_id from gone) g
    where r.workspace_id = g.workspace_id and r.id = g.run_id and r.pruned = ''
  )
  select count(*) into n from gone;
  -- Each call sets the day of its parts, so older parts belong to no call.
  delete from request_parts p using (
    select o.workspace_id, o.conversation_id, o.sha256 from request_parts o where o.used_on < ((now() - keep) at time zone 'UTC')::date
    order by o.used_on limit most for update skip locked) o
  where p.workspace_id = o.workspace_id and p.conversation_id = o.conversation_id and p.sha256 = o.sha256;
  get diagnostics parts = row_count;
  return n + parts;
end $$;

-- A run keeps a short row: its kind, times and outcome, and of its configuration what a client sees again.
-- Trainings, evolutions and evaluations are few and stay whole: the export of a bank states how it was
-- trained, and the same evaluation returns its table.
create function cairn.prune_runs(keep interval, most int) returns bigint
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare workspaces bigint[]; ids text[];
begin
  select coalesce(array_agg(o.workspace_id), '{}'), coalesce(array_agg(o.id), '{}') into workspaces, ids from (
    select r.workspace_id, r.id from runs r where r.status = 'ended' and r.pruned <> 'all' and r.ended_at < now() - keep
      and r.kind not in ('train', 'evolve', 'evaluate')
    order by r.ended_at limit most for no key update skip locked) o;
  delete from agent_calls t using unnest(workspaces, ids) o(ws, id) where t.workspace_id = o.ws and t.run_id = o.id;
  delete from agent_steps t using unnest(workspaces, ids) o(ws, id) where t.workspace_id = o.ws and t.run_id = o.id;
  delete from distill_files t using unnest(workspaces, ids) o(ws, id) where t.workspace_id = o.ws and t.run_id = o.id;
  update distill_tasks t set draft = null, package = null, comparison = null, candidates = '[]'
  from unnest(workspaces, ids) o(ws, id) where t.workspace_id = o.ws and t.run_id = o.id;
  update runs r set pruned = 'all', result = '{}', spec = jsonb_build_object('pinned', '{}'::jsonb)
    || jsonb_strip_nulls(jsonb_build_object('number', r.spec -> 'number', 'message_id', r.spec -> 'message_id', 'mode', r.spec -> 'mode'))
    || case when r.spec -> 'client' ? 'response' then jsonb_build_object('client', jsonb_build_object('response', r.spec -> 'client' -> 'response')) else '{}' end
  from unnest(workspaces, ids) o(ws, id) where r.workspace_id = o.ws and r.id = o.id;
  return cardinality(ids);
end $$;

create function cairn.prune_operations(keep interval, most int) returns bigint
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare n bigint;
begin
  delete from tool_op_log t using (
    select o.workspace_id, o.op_id from tool_op_log o where o.created_at < now() - keep
      and not exists (select from runs r where r.workspace_id = o.workspace_id and r.id = split_part(o.op_id, '/', 1) and r.status <> 'ended')
    order by o.created_at limit most for update skip locked) o
  where t.workspace_id = o.workspace_id and t.op_id = o.op_id;
  get diagnostics n = row_count;
  return n;
end $$;

create function cairn.prune_audit(keep interval, most int) returns bigint
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare n bigint;
begin
  delete from audit_events where id = any(array(select o.id from audit_events o where o.at < now() - keep order by o.at limit most));
  get diagnostics n = row_count;
  return n;
end $$;
-- +goose StatementEnd
revoke all on function cairn.prune_calls, cairn.prune_runs, cairn.prune_operations, cairn.prune_audit from public;
grant execute on function cairn.prune_calls, cairn.prune_runs, cairn.prune_operations, cairn.prune_audit to cairn_system;
grant create on schema cairn to cairn_prune;
alter function cairn.prune_calls(interval, int) owner to cairn_prune;
alter function cairn.prune_runs(interval, int) owner to cairn_prune;
alter function cairn.prune_operations(interval, int) owner to cairn_prune;
alter function cairn.prune_audit(interval, int) owner to cairn_prune;
revoke create on schema cairn from cairn_prune;
