-- +goose Up
-- When nothing scheduled starts, and whether days are looked back on at all: what
-- a workspace chose, as the sweep sees it. Of its settings it sees nothing else.

alter table workspaces
  add column reflects boolean not null generated always as ((settings ->> 'reflection') is distinct from 'false') stored,
  add column quiet_from text generated always as (settings -> 'quiet_hours' ->> 'from') stored,
  add column quiet_to text generated always as (settings -> 'quiet_hours' ->> 'to') stored;
grant select (reflects, quiet_from, quiet_to) on workspaces to cairn_system;

-- A firing is due at due_at, which names it and ends its window, and is looked at
-- from start_at on: later when quiet hours put it off, or to spread what is due in
-- all workspaces at once.
alter table scheduled_tasks drop column look_at;
alter table scheduled_tasks add column start_at timestamptz; -- null: at due_at
alter table scheduled_tasks add column look_at timestamptz generated always as (case when paused_at is not null then null else coalesce(lease_until, start_at, due_at, '-infinity') end) stored;
create index scheduled_tasks_look on scheduled_tasks (look_at) where look_at is not null;
grant update (start_at) on scheduled_tasks to cairn_app;
grant select (look_at, start_at), update (start_at) on scheduled_tasks to cairn_system;

-- Conversations that were had elsewhere are looked back on when their messages
-- have times; others are never read, and nobody waits for them.
alter table conversations add column dated boolean not null default false;
grant update (dated) on conversations to cairn_app;
grant select (dated) on conversations to cairn_system;
set local role cairn_migrator;
-- +goose StatementBegin
do $$
declare due bigint; n bigint;
begin
  select count(*) into due from cairn.conversations c where c.channel = 'import' and exists (select from cairn.messages m where m.workspace_id = c.workspace_id and m.conversation_id = c.id and m.event_time is not null);
  update cairn.conversations c set dated = true where c.channel = 'import' and exists (select from cairn.messages m where m.workspace_id = c.workspace_id and m.conversation_id = c.id and m.event_time is not null);
  get diagnostics n = row_count;
  assert n = due, format('%s of %s conversations are marked as dated', n, due);
end $$;
-- +goose StatementEnd
set local role cairn_owner;

-- Whether the day at an instant, if it was empty, is the seventh in a row although
-- people talked: a reflection that reads nothing looks like one that has nothing
-- to read.
-- +goose StatementBegin
create function cairn.unheard(ws bigint, at timestamptz) returns boolean
language sql stable security invoker set search_path = cairn, pg_catalog, pg_temp as $$
  select (select count(*) >= 6 and bool_and(r.status = 'empty') from reflection_runs r where r.workspace_id = ws and r.to_at >= at - interval '6 days 3 hours' and r.to_at < at)
    and exists (select from turns t where t.workspace_id = ws and t.origin = 'user' and t.accepted_at > at - interval '7 days' and t.accepted_at <= at)
$$;
-- +goose StatementEnd
grant execute on function cairn.unheard to cairn_app, cairn_system;
create policy turns_system on turns for select to cairn_system using (origin = 'user');
grant select (workspace_id, origin, accepted_at) on turns to cairn_system;
alter table reflection_runs add column unheard boolean not null default false; -- empty, the seventh in a row although people talked
grant update (unheard) on reflection_runs to cairn_app;
grant select (unheard), insert (unheard) on reflection_runs to cairn_system;
create index reflection_runs_unheard on reflection_runs (local_date) where unheard;

-- Who the agent is comes of a conversation as memories do: kept without its
-- source, out of force, or deleted. What was in force before is in force again.
update erase_rules set how = 'derived' where tbl = 'identity_versions';
grant update (identity_version) on workspaces to cairn_erase;
grant update (run_id, history_id) on identity_versions to cairn_erase;
grant create on schema cairn to cairn_erase;
set local role cairn_erase; -- the functions are its own
-- +goose StatementBegin
create function cairn.erase_identity(erasure bigint) returns void
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare e erasures; head int; before int; mine int[]; n bigint;
begin
  select * into e from cairn.erase_enter(erasure);
  if e.id is null or e.conversation is null then return; end if;
  mine := array(select version from identity_versions t where t.workspace_id = e.workspace
    and (t.history_id in (select id from memory_histories where workspace_id = e.workspace and conversation_id = e.conversation)
      or t.run_id in (select id from runs where workspace_id = e.workspace and conversation_id = e.conversation)));
  select identity_version into head from workspaces where id = e.workspace;
  if e.derived <> 'keep' and head = any(mine) then
    select coalesce(max(version), 0) into before from identity_versions where workspace_id = e.workspace and version < head and version <> all(mine);
    update workspaces set identity_version = before where id = e.workspace;
    update frozen_sessions set revoked_at = coalesce(revoked_at, now()) where workspace_id = e.workspace;
  end if;
  if e.derived = 'delete' then
    delete from identity_versions where workspace_id = e.workspace and version = any(mine);
    get diagnostics n = row_count;
    perform cairn.erase_count(erasure, 'identity_versions', n);
  else
    update identity_versions set run_id = null, history_id = null where workspace_id = e.workspace and version = any(mine);
  end if;
end $$;

create or replace function cairn.erase_conversation(erasure bigint) returns void
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare e erasures; t text; n bigint;
begin
  select * into e from cairn.erase_enter(erasure);
  if e.id is null or e.conversation is null then return; end if;
  perform cairn.erase_derived(erasure);
  perform cairn.erase_identity(erasure);
  for t in select tbl from cairn.erase_tables() order by place loop
    perform cairn.erase_rows(erasure, t, null);
  end loop;
  delete from conversations where workspace_id = e.workspace and id = e.conversation;
  get diagnostics n = row_count;
  perform cairn.erase_count(erasure, 'conversations', n);
end $$;
-- +goose StatementEnd
revoke all on function cairn.erase_identity from public;
grant execute on function cairn.erase_identity to cairn_system;
set local role cairn_owner;
revoke create on schema cairn from cairn_erase;
