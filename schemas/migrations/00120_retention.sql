-- +goose Up
-- Retention of what shows how results came about: model calls, the details of runs, the log of
-- operations and the audit log. Conversations, memories and skills do not depend on it. The functions
-- work in all workspaces and return the number of rows, which is 0 when nothing is left. Open runs stay
-- whole.

alter table runs add column pruned text not null default '' check (pruned in ('', 'calls', 'all'));
create index runs_unpruned on runs (ended_at) where status = 'ended' and pruned <> 'all';
create index llm_calls_age on llm_calls (created_at);
create index request_parts_age on request_parts (used_on);
create index tool_op_log_age on tool_op_log (created_at);
create index audit_events_age on audit_events (at);

create policy runs_prune on runs to cairn_owner using (true) with check (true);
create policy llm_calls_prune on llm_calls to cairn_owner using (true);
create policy request_parts_prune on request_parts to cairn_owner using (true);
create policy agent_steps_prune on agent_steps to cairn_owner using (true);
create policy agent_calls_prune on agent_calls to cairn_owner using (true);
create policy distill_files_prune on distill_files to cairn_owner using (true);
create policy distill_tasks_prune on distill_tasks to cairn_owner using (true) with check (true);
create policy tool_op_log_prune on tool_op_log to cairn_owner using (true);
create policy audit_events_prune_see on audit_events for select to cairn_owner using (true);
create policy audit_events_prune on audit_events for delete to cairn_owner using (true);

-- +goose StatementBegin
create function cairn.prune_calls(keep interval, most int) returns bigint
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare n bigint; parts bigint;
begin
  with old as (
    select c.ctid, c.workspace_id, c.run_id from llm_calls c where c.created_at < now() - keep
      and not exists (select from runs r where r.workspace_id = c.workspace_id and r.id = c.run_id and r.status <> 'ended')
    order by c.created_at limit most for update skip locked
  ), gone as (
    delete from llm_calls where ctid = any(array(select ctid from old)) returning workspace_id, run_id
  ), marked as (
    update runs r set pruned = 'calls' from (select distinct workspace_id, run_id from gone) g
    where r.workspace_id = g.workspace_id and r.id = g.run_id and r.pruned = ''
  )
  select count(*) into n from gone;
  -- Each call sets the day of its parts, so older parts belong to no call.
  delete from request_parts where ctid = any(array(
    select ctid from request_parts where used_on < ((now() - keep) at time zone 'UTC')::date order by used_on limit most for update skip locked));
  get diagnostics parts = row_count;
  return n + parts;
end $$;

-- A run keeps a row: its kind, times and outcome. That of a turn keeps its configuration, which is part
-- of what a client sees again.
create function cairn.prune_runs(keep interval, most int) returns bigint
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare workspaces bigint[]; ids text[];
begin
  select coalesce(array_agg(o.workspace_id), '{}'), coalesce(array_agg(o.id), '{}') into workspaces, ids from (
    select r.workspace_id, r.id from runs r where r.status = 'ended' and r.pruned <> 'all' and r.ended_at < now() - keep
    order by r.ended_at limit most for no key update skip locked) o;
  delete from agent_calls t using unnest(workspaces, ids) o(ws, id) where t.workspace_id = o.ws and t.run_id = o.id;
  delete from agent_steps t using unnest(workspaces, ids) o(ws, id) where t.workspace_id = o.ws and t.run_id = o.id;
  delete from distill_files t using unnest(workspaces, ids) o(ws, id) where t.workspace_id = o.ws and t.run_id = o.id;
  update distill_tasks t set draft = null, package = null, comparison = null, candidates = '[]'
  from unnest(workspaces, ids) o(ws, id) where t.workspace_id = o.ws and t.run_id = o.id;
  update runs r set pruned = 'all', result = '{}', spec = case r.kind when 'turn' then r.spec
    else jsonb_strip_nulls(jsonb_build_object('pinned', '{}'::jsonb, 'number', r.spec -> 'number')) end
  from unnest(workspaces, ids) o(ws, id) where r.workspace_id = o.ws and r.id = o.id;
  return cardinality(ids);
end $$;

create function cairn.prune_operations(keep interval, most int) returns bigint
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare n bigint;
begin
  delete from tool_op_log where ctid = any(array(
    select o.ctid from tool_op_log o where o.created_at < now() - keep
      and not exists (select from runs r where r.workspace_id = o.workspace_id and r.id = split_part(o.op_id, '/', 1) and r.status <> 'ended')
    order by o.created_at limit most for update skip locked));
  get diagnostics n = row_count;
  return n;
end $$;

create function cairn.prune_audit(keep interval, most int) returns bigint
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare n bigint;
begin
  delete from audit_events where ctid = any(array(select ctid from audit_events where at < now() - keep order by at limit most));
  get diagnostics n = row_count;
  return n;
end $$;
-- +goose StatementEnd
revoke all on function cairn.prune_calls, cairn.prune_runs, cairn.prune_operations, cairn.prune_audit from public;
grant execute on function cairn.prune_calls, cairn.prune_runs, cairn.prune_operations, cairn.prune_audit to cairn_system;
