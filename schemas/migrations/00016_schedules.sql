-- +goose Up
-- Schedules: what a workspace wants done again and again, swept into workflows
-- when it is due. The built-in one is the daily reflection.

alter table workspaces add column reflection_cron text not null default '0 23 * * *' check (reflection_cron <> '');
grant update (reflection_cron) on workspaces to cairn_app;
grant select (reflection_cron) on workspaces to cairn_system;

-- A firing is named by its key: the local date, or the minute when a date has
-- several. Due is the next one, which the wall clock of the zone decides; slot is
-- the last one that came due, and what became of it.
create table scheduled_tasks (
  workspace_id    bigint not null references workspaces,
  id              bigint generated always as identity,
  name            text not null check (name ~ '^[a-z0-9]+(-[a-z0-9]+)*$' and char_length(name) <= 64),
  kind            text not null check (kind in ('reflection', 'curate', 'turn')),
  cron            text check (cron is not null or kind = 'reflection'),  -- null: the workspace's reflection_cron
  time_zone       text,                                    -- null: the workspace's
  prompt          text not null default '' check ((kind = 'turn') = (prompt <> '')),
  channel         text not null default 'scheduled' check (channel in ('voice', 'sms', 'chat', 'scheduled')),
  max_turns       int not null default 0 check (max_turns between 0 and 50), -- model calls; 0 leaves the channel's budget
  catch_up        interval not null default '12 hours' check (catch_up >= '0'), -- a firing that is later than this is skipped
  overlap         text not null default 'skip' check (overlap in ('skip', 'queue')), -- when the turn before has no answer yet
  paused_at       timestamptz,
  due_at          timestamptz,                             -- null until the sweep has planned it
  due_date        date,
  due_key         text,
  slot_at         timestamptz,
  slot_date       date,
  slot_key        text,
  slot_outcome    text not null default '' check (slot_outcome in ('', 'started', 'empty', 'collapsed', 'skipped', 'failed')),
  slot_reason     text not null default '',
  claim           text,                                    -- the page of the sweep that took the slot
  lease_until     timestamptz,                             -- by this database's clock; null once the slot is dealt with
  look_at         timestamptz generated always as (case when paused_at is not null then null else coalesce(lease_until, due_at, '-infinity') end) stored,
  created_at      timestamptz not null default now(),
  updated_at      timestamptz not null default now(),
  primary key (workspace_id, id),
  unique (workspace_id, name),
  check ((due_at is null) = (due_key is null) and (due_at is null) = (due_date is null))
);
create index scheduled_tasks_look on scheduled_tasks (look_at) where look_at is not null;
create index scheduled_tasks_claim on scheduled_tasks (claim) where lease_until is not null;

-- One row for each local date of a workspace, whatever the clock did that day.
create table reflection_runs (
  workspace_id    bigint not null references workspaces,
  local_date      date not null,
  zone            text not null,
  status          text not null check (status in ('started', 'saved', 'nothing_to_save', 'empty', 'partial', 'failed')),
  from_at         timestamptz,                             -- null: from the beginning
  to_at           timestamptz not null,
  run_id          bigint,
  conversations   int not null default 0,
  messages        int not null default 0,
  notes           int not null default 0,
  memories        int not null default 0,
  skills          int not null default 0,
  failures        int not null default 0,
  reason          text,
  created_at      timestamptz not null default now(),
  updated_at      timestamptz not null default now(),
  primary key (workspace_id, local_date),
  foreign key (workspace_id, run_id) references runs
);

-- A page of the sweep, so that a claim which is tried again is the same page.
create table sweep_pages (
  claim           text primary key,
  looked          int not null default 0,
  taken           int not null default 0,
  empty           int not null default 0,
  skipped         int not null default 0,
  more            boolean not null default false,
  created_at      timestamptz not null default now()
);
create index sweep_pages_old on sweep_pages (created_at);

-- How far a conversation was reflected on.
alter table conversation_marks drop constraint conversation_marks_kind_check;
alter table conversation_marks add constraint conversation_marks_kind_check check (kind in ('summarize', 'distill', 'reflection'));

-- +goose StatementBegin
do $$
declare t text;
begin
  foreach t in array array['scheduled_tasks', 'reflection_runs'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format($p$create policy %I on %I to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint)$p$, t || '_app', t);
    execute format('grant select, insert on %I to cairn_app', t);
  end loop;
end $$;
-- +goose StatementEnd
grant update (paused_at, due_at, due_date, due_key, slot_at, slot_date, slot_key, slot_outcome, slot_reason, claim, lease_until, updated_at), delete on scheduled_tasks to cairn_app;
grant update (zone, status, from_at, to_at, run_id, conversations, messages, notes, memories, skills, failures, reason, updated_at) on reflection_runs to cairn_app;
insert into erase_rules (tbl, how, scope) values ('scheduled_tasks', 'none', null), ('reflection_runs', 'none', null);
select cairn.cover_erase();

-- The sweep has no workspace yet: it sees ids, times and expressions, and tells
-- from sequence numbers whether there is anything to reflect on.
alter table sweep_pages enable row level security;
alter table sweep_pages force row level security;
create policy sweep_pages_system on sweep_pages to cairn_system using (true);
grant select, insert, update (looked, taken, empty, skipped, more), delete on sweep_pages to cairn_system;
create policy scheduled_tasks_system_see on scheduled_tasks for select to cairn_system using (true);
create policy scheduled_tasks_system_advance on scheduled_tasks for update to cairn_system using (true);
grant select (workspace_id, id, kind, cron, time_zone, catch_up, paused_at, due_at, due_date, due_key, slot_at, slot_date, slot_key, slot_outcome, slot_reason, claim, lease_until, look_at),
  update (due_at, due_date, due_key, slot_at, slot_date, slot_key, slot_outcome, slot_reason, claim, lease_until, updated_at) on scheduled_tasks to cairn_system;
create policy reflection_runs_system_see on reflection_runs for select to cairn_system using (true);
create policy reflection_runs_system_empty on reflection_runs for insert to cairn_system with check (status = 'empty');
grant select (workspace_id, local_date, status, to_at), insert (workspace_id, local_date, zone, status, from_at, to_at) on reflection_runs to cairn_system;
create policy conversations_system on conversations for select to cairn_system using (true);
grant select (workspace_id, id, channel, next_seq, last_turn_at) on conversations to cairn_system;
create policy conversation_marks_system on conversation_marks for select to cairn_system using (kind = 'reflection');
grant select (workspace_id, conversation_id, kind, seq) on conversation_marks to cairn_system;
create policy skills_system on skills for select to cairn_system using (managed and deleted_at is null);
grant select (workspace_id, managed, deleted_at) on skills to cairn_system;
create index skills_managed on skills (workspace_id) where managed and deleted_at is null;

-- Every workspace has the built-in tasks, not planned yet: the sweep does that.
create policy scheduled_tasks_definer on scheduled_tasks for insert to cairn_owner with check (kind <> 'turn');
insert into scheduled_tasks (workspace_id, name, kind, cron)
select w.id, b.name, b.kind, b.cron from workspaces w, (values ('daily-reflection', 'reflection', null), ('weekly-curation', 'curate', '30 3 * * 0')) b(name, kind, cron);
-- +goose StatementBegin
create or replace function cairn.open_workspace(ext text, make boolean) returns table (ws_id bigint, ws_key text, ws_state text)
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare made bigint;
begin
  return query select w.id, w.key, w.state from workspaces w where w.external_id = ext;
  if found or not make then return; end if;
  insert into workspaces (external_id, key)
    values (ext, 'w' || substr(replace(gen_random_uuid()::text, '-', ''), 1, 16)) on conflict (external_id) do nothing returning id into made;
  if made is not null then
    insert into scheduled_tasks (workspace_id, name, kind, cron) values (made, 'daily-reflection', 'reflection', null), (made, 'weekly-curation', 'curate', '30 3 * * 0');
  end if;
  return query select w.id, w.key, w.state from workspaces w where w.external_id = ext;
end $$;
-- +goose StatementEnd
